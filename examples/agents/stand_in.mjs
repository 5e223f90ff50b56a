// A stand-in for the tools whose hooks are code: it loads the file that `bd setup` wrote, and plays a session.
//   node stand_in.mjs opencode|openclaw
import { execFileSync } from "node:child_process"
import { copyFileSync, existsSync } from "node:fs"
import { pathToFileURL } from "node:url"
import { resolve } from "node:path"

const bd = (...words) => JSON.parse(execFileSync("bd", [...words, "--json"]).toString())
const show = (text) => console.log(text.split("\n")[0])

// Bun's shell, as far as the plugin uses it.
const shell = (parts, ...values) => {
  const line = parts.reduce((all, part, place) => all + (place ? `'${values[place - 1]}'` : "") + part, "")
  const done = { text: async () => execFileSync("sh", ["-c", line]).toString(), quiet: () => done, nothrow: () => done }
  return done
}

const opencode = async () => {
  copyFileSync(".opencode/plugins/bd.js", ".opencode/plugins/bd.mjs") // node takes this ending for a module
  const { Bd } = await import(pathToFileURL(resolve(".opencode/plugins/bd.mjs")))
  const client = { session: { prompt: async ({ body }) => show(`${body.noReply ? "context" : "reminded"}: ${body.parts[0].text}`) } }
  const plugin = await Bd({ client, $: shell })
  await plugin.event({ event: { type: "session.created", properties: { info: { id: "s1" } } } })
  const [bead] = bd("claim", "--next")
  const output = { context: [] }
  await plugin["experimental.session.compacting"]({}, output)
  show(`compacted with: ${output.context[0]}`)
  for (let turn = 0; turn < 2; turn += 1) await plugin.event({ event: { type: "session.idle", properties: { sessionID: "s1" } } })
  bd("close", bead.id, "--reason", "done by a stand-in")
}

const openclaw = async () => {
  if (!existsSync("hooks/bd/HOOK.md")) throw new Error("no HOOK.md")
  copyFileSync("hooks/bd/handler.ts", "hooks/bd/handler.mjs")
  const { default: handler } = await import(pathToFileURL(resolve("hooks/bd/handler.mjs")))
  const context = { workspaceDir: process.cwd(), bootstrapFiles: [] }
  await handler({ type: "agent", action: "bootstrap", context, messages: [] })
  show(`context: ${context.bootstrapFiles[0].content}`)
  const [bead] = bd("claim", "--next")
  const messages = []
  await handler({ type: "command", action: "stop", context, messages })
  show(`reminded: ${messages[0]}`)
  bd("close", bead.id, "--reason", "done by a stand-in")
}

await { opencode, openclaw }[process.argv[2]]()
