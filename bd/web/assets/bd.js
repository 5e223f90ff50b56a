// Keeps an open page up to date: listens to /events, fetches the page again when the hub has moved, and puts the parts
// that are marked data-live in the place of the old ones. A part in which somebody is typing is left alone.
'use strict';

const freshness = document.getElementById('freshness');
let isFetching = false;
let isOutdated = false;

function clock(at) {
  const time = at ? new Date(at) : new Date();
  return Number.isNaN(time.getTime()) ? '' : time.toLocaleString([], { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' });
}

function say(words, kind) {
  freshness.textContent = words;
  freshness.className = kind;
}

// Where a bead is: its section, and its status there.
function place(row) {
  const head = row.closest('section')?.querySelector('h2');
  return `${head?.textContent} ${row.querySelector('.state')?.textContent}`;
}

function places(root) {
  const found = new Map();
  for (const row of root.querySelectorAll('tbody tr')) {
    const id = row.querySelector('td.id');
    if (id) found.set(id.textContent, place(row));
  }
  return found;
}

function isInUse(part) {
  if (part.contains(document.activeElement) && document.activeElement.matches('input, textarea, select')) return true;
  return [...part.querySelectorAll('input, textarea')].some((field) => field.value !== field.defaultValue);
}

function renew(fresh) {
  const before = places(document);
  for (const part of document.querySelectorAll('[data-live]')) {
    const other = fresh.getElementById(part.id);
    if (!other || part.innerHTML === other.innerHTML || isInUse(part)) continue;
    part.replaceChildren(...document.adoptNode(other).childNodes);
  }
  document.querySelector('main').dataset.tip = fresh.querySelector('main').dataset.tip;
  for (const row of document.querySelectorAll('tbody tr')) {
    const id = row.querySelector('td.id');
    if (!id) continue;
    const now = place(row);
    if (before.get(id.textContent) !== now) row.classList.add('moved');
  }
}

async function refresh() {
  isOutdated = true;
  if (isFetching || document.hidden) return;
  isFetching = true;
  try {
    while (isOutdated) {
      isOutdated = false;
      const begun = performance.now();
      const answer = await fetch(location.href, { headers: { accept: 'text/html' }, cache: 'no-store' });
      if (!answer.ok) break;
      renew(new DOMParser().parseFromString(await answer.text(), 'text/html'));
      // What takes the server long is asked for less often: a busy hub shall not keep it busy for this page alone.
      if (isOutdated) await new Promise((done) => setTimeout(done, Math.max(100, performance.now() - begun)));
    }
  } catch {
    isOutdated = true; // the server is away; it says when it is back
  } finally {
    isFetching = false;
  }
}

let source = null;

function listen() {
  if (source) return;
  source = new EventSource('/events');
  const heard = (event) => JSON.parse(event.data);
  source.addEventListener('hello', (event) => {
    say(`live, the hub answered at ${clock(heard(event).at)}`, 'live');
    const shown = document.querySelector('main').dataset.tip;
    if (shown && heard(event).tip !== shown) refresh();
  });
  source.addEventListener('moved', (event) => {
    say(`live, the hub moved at ${clock(heard(event).at)}`, 'live');
    refresh();
  });
  source.addEventListener('signs', refresh);
  source.addEventListener('back', (event) => {
    say(`live, the hub is back since ${clock(heard(event).at)}`, 'live');
    refresh();
  });
  source.addEventListener('stale', (event) => {
    const news = heard(event);
    say(`stale since ${clock(news.since)}: ${news.text}`, 'stale');
  });
  source.addEventListener('error', () => {
    if (freshness.className !== 'stale') say(`stale since ${clock()}: the server does not answer`, 'stale');
  });
}

// A browser has few connections to one server: a page that nobody sees gives its own back.
function rest() {
  if (source) source.close();
  source = null;
}

for (const way of document.querySelectorAll('nav a')) {
  if (way.pathname === location.pathname || (way.pathname === '/beads' && location.pathname.startsWith('/beads/'))) way.setAttribute('aria-current', 'page');
}
document.addEventListener('visibilitychange', () => {
  if (document.hidden) {
    rest();
  } else {
    listen();
    if (isOutdated) refresh();
  }
});
// A change is sent once, however often somebody presses the button.
document.addEventListener('submit', (event) => {
  for (const button of event.target.querySelectorAll('button')) button.disabled = true;
});
window.addEventListener('pageshow', (event) => {
  if (event.persisted) listen();
  for (const button of document.querySelectorAll('button:disabled')) button.disabled = false;
});
if (!document.hidden) listen();
window.addEventListener('pagehide', rest);
