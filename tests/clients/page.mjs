// The page of the browser interface, without a browser: a line in is a message to the server, each message back is a line out.
//   node page.mjs FOLDER PORT      FOLDER has node_modules with ws in it
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';

const [folder, port] = process.argv.slice(2);
const WebSocket = createRequire(folder + '/')('ws');
const socket = new WebSocket(`ws://127.0.0.1:${port}/ws`);
// A push that never comes must not hold up the suite for ever: the test then sees the stream end, and fails.
let patience;
const wait = () => {
  clearTimeout(patience);
  patience = setTimeout(() => { console.error('nothing came for two minutes'); process.exit(1); }, 120000).unref();
};
wait();
socket.on('message', (data) => { wait(); console.log(String(data)); });
socket.on('error', (error) => { console.error(error.message); process.exit(1); });
socket.on('open', () => {
  console.log('{"type":"open"}');
  createInterface({ input: process.stdin }).on('line', (line) => socket.send(line)).on('close', () => process.exit(0));
});
