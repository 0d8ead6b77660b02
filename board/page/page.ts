// The frame of all pages: the navigation, the list of runs, the settings, and the news of the server.
// Each page stands in a file of its own; of those that were shown once the elements stay.
import {isDark} from './chart';
import {byId, element, getJson, PREFIX} from './dom';
import {Audio} from './audio';
import {CustomScalars} from './custom_scalars';
import {Graph} from './graph';
import {Histograms} from './histograms';
import {Hparams} from './hparams';
import {Images} from './images';
import {Meshes} from './meshes';
import {PrCurves} from './pr_curves';
import {Projector} from './projector';
import {drawRuns} from './run_list';
import {Scalars} from './scalars';
import {Page, keep, readLink, recall, settings, state, writeLink} from './state';
import {Texts} from './texts';
import {Timeline} from './timeline';
import {countOf} from './words';

const MANY_RUNS = 40;
// Elements and the settings that they show.
const FIELDS = [['run-filter', 'runFilter'], ['tag-filter', 'tagFilter'], ['group', 'group']] as const;
const BOXES = ['log', 'logX', 'clip', 'pairs', 'means', 'sound'] as const;

readLink();
let choosesRuns = !location.hash;  // which are shown at first
let rest = 20;  // milliseconds before something new is asked for
const pages: Page[] = [new Scalars(), new CustomScalars(), new Graph(), new Histograms(), new Images(), new Audio(),
                       new Texts(), new PrCurves(), new Hparams(), new Projector(), new Meshes(), new Timeline()];

function shownPage(): Page {
  return pages.find(page => page.name === settings.page) || pages[0];
}

// ---- The lists ----------------------------------------------------------------------------------
// |enabled|: the plugins that have something, as far as is known; a page of others is marked as empty.
function drawPages(enabled?: Set<string>): void {
  const links = pages.map(page => {
    const link = element('a', {href: '#', 'data-page': page.name}, page.title);
    if (enabled && page.plugins.length && !page.plugins.some(plugin => enabled.has(plugin))) link.className = 'empty';
    link.onclick = event => {
      event.preventDefault();
      settings.page = page.name;
      writeLink(true);
      showPage();
    };
    return element('li', {}, link);
  });
  byId('pages').replaceChildren(element('ul', {}, ...links));
  markPage();
}

function markPage(): void {
  const shown = shownPage();
  document.querySelectorAll<HTMLElement>('#pages a').forEach(link => {
    if (link.dataset.page !== shown.name) {
      link.removeAttribute('aria-current');
      return;
    }
    link.setAttribute('aria-current', 'page');
    requestAnimationFrame(() => {
      const row = byId('pages');  // which is scrolled where the window is narrow
      row.scrollLeft = Math.max(0, link.offsetLeft + link.offsetWidth - row.offsetLeft - row.clientWidth);
    });
  });
}

function showPage(reloads = true): void {
  const shown = shownPage();
  document.title = shown.title + ' – Leat board';
  byId('title').textContent = shown.title;
  byId('content').replaceChildren(shown.root);
  byId('run-list').hidden = !shown.usesRuns;
  document.body.classList.toggle('full', !shown.usesRuns);
  byId('tag-tools').hidden = !shown.usesTags;
  let hasTools = shown.usesTags || !!shown.tools;
  document.querySelectorAll<HTMLElement>('.tools[data-pages]').forEach(tools => {
    tools.hidden = !tools.dataset.pages!.split(' ').includes(shown.name);
    hasTools ||= !tools.hidden;
  });
  byId('tools').hidden = !hasTools;
  byId('page-tools').replaceChildren(...(shown.tools ? [shown.tools] : []));
  markPage();
  if (reloads) shown.reload().catch(sayFailure);
}

function onSettings(): void {
  choosesRuns = false;
  writeLink();
  keepNames();
  byId('smoothing-value').textContent = String(settings.smoothing);
  byId('group-tool').hidden = !settings.means;
  tellStep();
  drawRuns(onSettings);
  document.dispatchEvent(new Event('leat-runs'));
  shownPage().redraw();
}

// ---- The step that is marked --------------------------------------------------------------------
// The slider goes from 0 to the greatest step that any card has loaded, and then to "newest".
function tellStep(): void {
  const slider = byId<HTMLInputElement>('step'), isNewest = settings.step < 0;
  slider.max = String(state.lastStep + 1);
  slider.value = String(isNewest ? state.lastStep + 1 : settings.step);
  const text = isNewest ? 'newest' : String(settings.step);
  byId('step-value').textContent = text;
  slider.setAttribute('aria-valuetext', text);
}

function setStep(): void {
  const step = Number(byId<HTMLInputElement>('step').value);
  settings.step = step > state.lastStep ? -1 : step;
  writeLink();
  tellStep();
  document.dispatchEvent(new Event('leat-step'));
  shownPage().redraw();
}

// ---- Names of runs ------------------------------------------------------------------------------
// Names are kept for the next visit of the same logs; those of a link come before them.
const nameKey = () => 'leat-names ' + byId('where').textContent;

function keepNames(): void {
  if (!byId('where').textContent) return;
  keep(nameKey(), settings.names.length ? JSON.stringify(settings.names) : '');
}

function recallNames(): void {
  if (settings.names.length) return;
  try {
    settings.names = JSON.parse(recall(nameKey()) || '[]').filter(Array.isArray);
  } catch {
    keep(nameKey(), '');
  }
}

function sayFailure(error: Error): void {
  byId('state').textContent = 'The server does not answer: ' + error.message;
}

async function markEmptyPages(): Promise<void> {
  try {
    const plugins = await getJson('/data/plugins_listing');
    drawPages(new Set(Object.keys(plugins).filter(name => plugins[name].enabled)));
  } catch (error) {
    sayFailure(error as Error);
  }
}

// Asks for all that the frame shows, and has the page that is shown do so. Ends when what is seen is
// drawn; whether the server has answered.
async function reload(): Promise<boolean> {
  try {
    // What is asked for after the version is at least as new.
    const {status, logdir, runs: names, scalar_tags} = await getJson('/data/leat/overview');
    state.version = String(status.version);
    if (!status.series && !status.loaded) {
      // Lists with nothing behind them would be in the way of what comes in a moment.
      byId('state').textContent = 'Loading.';
      await new Promise(done => setTimeout(done, rest));
      rest = Math.min(2 * rest, 1000);
      return reload();
    }
    rest = status.series ? 1000 : 100;
    // So many lines in one chart say nothing and take long: of many runs the first are shown, until
    // the user has chosen or all runs are known.
    if (choosesRuns) settings.hidden = names.slice(MANY_RUNS);
    choosesRuns &&= !status.loaded;
    const isFirst = !state.runs.length;
    state.runs = names;
    state.scalarTags = scalar_tags;
    state.deletesRuns = status.deletes_runs;
    names.forEach((run: string) =>
      state.styles.has(run) || state.styles.set(run, state.styles.size));
    if (!byId('where').textContent) {
      byId('where').textContent = logdir;
      recallNames();
    }
    const wrong = status.damaged_records + status.skipped_values;
    const isHidden = new Set(settings.hidden);
    const hidden = names.filter((run: string) => isHidden.has(run)).length;
    byId('state').textContent = (status.loaded ? '' : 'Loading. ') +
      (hidden ? `${hidden} of ` : '') + countOf(names.length, 'run') + (hidden ? ' are hidden' : '') + `, ${status.series} series` + (wrong ? `, ${wrong} records or values skipped` : '');
    drawRuns(onSettings, isFirst);
    await shownPage().reload();
    drawRuns(onSettings);
    // The server takes longer for this than for all that was drawn so far.
    void markEmptyPages();
    return true;
  } catch (error) {
    sayFailure(error as Error);
    return false;
  }
}

// ---- The beginning ------------------------------------------------------------------------------
function setTheme(dark: boolean): void {
  document.documentElement.dataset.theme = dark ? 'dark' : 'light';
  byId('theme').textContent = dark ? 'Light' : 'Dark';
  document.dispatchEvent(new Event('leat-runs'));
  drawRuns(onSettings);
  shownPage().draw();
}

// Puts the settings into the elements that show them.
function fillTools(): void {
  for (const [id, name] of FIELDS) {
    byId<HTMLInputElement>(id).value = settings[name];
  }
  for (const id of BOXES) byId<HTMLInputElement>(id).checked = settings[id];
  byId<HTMLInputElement>('smoothing').value = String(settings.smoothing);
  byId<HTMLSelectElement>('axis').value = settings.axis;
  byId('smoothing-value').textContent = String(settings.smoothing);
  byId('group-tool').hidden = !settings.means;
  tellStep();
}

function bind(): void {
  for (const [id, name] of FIELDS) {
    const input = byId<HTMLInputElement>(id);
    input.oninput = () => { settings[name] = input.value; onSettings(); };
  }
  for (const id of BOXES) {
    const input = byId<HTMLInputElement>(id);
    input.onchange = () => { settings[id] = input.checked; onSettings(); };
  }
  const smoothing = byId<HTMLInputElement>('smoothing'), axis = byId<HTMLSelectElement>('axis');
  smoothing.oninput = () => { settings.smoothing = Number(smoothing.value); onSettings(); };
  axis.onchange = () => { settings.axis = axis.value as typeof settings.axis; onSettings(); };
  byId('all').onclick = () => { settings.hidden = []; onSettings(); };
  byId('none').onclick = () => { settings.hidden = [...state.runs]; onSettings(); };
  byId('step').oninput = setStep;
  document.addEventListener('leat-last-step', tellStep);
  byId('tools').onsubmit = event => event.preventDefault();
  byId('theme').onclick = () => {
    setTheme(!isDark());
    keep('leat-theme', isDark() ? 'dark' : 'light');
  };
}

bind();
fillTools();
drawPages();
const kept = recall('leat-theme');
document.documentElement.dataset.theme =
  (kept ? kept === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches) ? 'dark' : 'light';
showPage(false);
setTheme(isDark());
let width = 0;
new ResizeObserver(() => {
  // Cards make their page longer as they come, and draw themselves: only their width matters.
  const isWider = width !== byId('content').clientWidth;
  width = byId('content').clientWidth;
  if (isWider || !shownPage().usesTags) shownPage().draw();
}).observe(byId('content'));
addEventListener('scroll', () => shownPage().draw(), {passive: true});
addEventListener('popstate', () => {
  readLink();
  fillTools();
  showPage();
});
document.querySelector<HTMLElement>('.skip')!.onclick = event => {
  event.preventDefault();  // the part behind "#" keeps the settings
  byId('main').focus();
};

// A browser opens at most six connections to a server, and a stream takes one of them: only a page
// that is seen listens, and reloads what it missed when it is seen again.
let live: EventSource | null = null;
let waiting = true;  // for the answer to what was asked for
let told = '';  // the newest version that the server told of
// While a program trains, something is new all the time: once in a second is enough, but a page that
// shows nothing yet must not wait.
function reloadSoon(): void {
  if (waiting) return;
  waiting = true;
  setTimeout(async () => {
    const before = told;
    const isAnswered = told !== state.version && await reload();
    waiting = false;
    if (isAnswered && told !== before && told !== state.version) reloadSoon();
  }, rest);
}
function listen(): void {
  if (live || document.hidden) return;
  live = new EventSource(PREFIX + '/data/leat/live');
  live.addEventListener('version', event => {
    told = event.data;
    if (told !== state.version) reloadSoon();
  });
}
function stopListening(): void {
  live?.close();
  live = null;
}
reload().then(() => {
  waiting = false;
  if (told && told !== state.version) reloadSoon();
  listen();
});
document.addEventListener('visibilitychange', () => document.hidden ? stopListening() : listen());
addEventListener('pagehide', stopListening);
addEventListener('pageshow', event => {
  if (event.persisted) listen();
});
