// The page of custom scalars: the charts that a program laid out, in its categories. A chart shows
// the scalars whose tags its regular expressions match, or lines with a band between two others.
import {isNear} from './cards';
import {Series, fetchColumns} from './columns';
import {element, getJson} from './dom';
import {Curve, LineCard} from './line_card';
import {styleOf} from './run_groups';
import {Page, nameOf, shownRuns} from './state';

interface Margin {
  value: string;
  lower: string;
  upper: string;
}

interface Chart {
  title: string;
  multiline?: {tag: string[]};
  margin?: {series: Margin[]};
}

interface Category {
  title: string;
  chart: Chart[];
  closed: boolean;
}

const NOTHING = 'No run that is shown has a tag that this chart asks for.';

// Lines of one tag are named and drawn as their runs, others also by their tags.
function named(series: Series[]): Curve[] {
  const isOneTag = new Set(series.map(s => s.tag)).size <= 1;
  return series.map((s, i) => isOneTag ? {...s, name: nameOf(s.run), style: styleOf(s.run)}
                                       : {...s, name: `${nameOf(s.run)}: ${s.tag}`, style: i});
}

// Throws where a pattern is none, so that the card says which. The server decides about others that
// it does not know.
function check(patterns: string[]): string[] {
  for (const pattern of patterns) {
    try {
      new RegExp(pattern.replace(/^\(\?[a-zA-Z]+\)/, ''));
    } catch {
      throw new Error(`"${pattern}" is no regular expression`);
    }
  }
  return patterns;
}

// The lines of values; the edges of their bands are those of the same step.
function banded(series: Series[], margins: Margin[]): Curve[] {
  const find = (run: string, tag: string) => series.find(s => s.run === run && s.tag === tag);
  const values = series.filter(s => margins.some(margin => margin.value === s.tag));
  return named(values).map(curve => {
    const margin = margins.find(m => m.value === curve.tag) as Margin;
    const edge = (tag: string) => {
      const of = find(curve.run, tag), at = new Map(of ? [...of.steps].map((step, i) => [step, of.values[i]]) : []);
      return curve.steps.map(step => at.get(step) ?? NaN);
    };
    return {...curve, low: edge(margin.lower), high: edge(margin.upper)};
  });
}

async function seriesOf(chart: Chart): Promise<Series[]> {
  const run = shownRuns(), margins = chart.margin?.series || [], pattern = check(chart.multiline?.tag.filter(Boolean) || []);
  if (margins.length) return fetchColumns({run, tag: margins.flatMap(m => [m.value, m.lower, m.upper])});
  return pattern.length ? fetchColumns({run, pattern}) : [];
}

export class CustomScalars implements Page {
  name = 'custom_scalars';
  title = 'Custom scalars';
  plugins = ['custom_scalars'];
  usesRuns = true;
  usesTags = false;
  root = element('div');
  private known = '';
  private readonly cards = new Map<string, LineCard>();
  private readonly watcher = new IntersectionObserver(() => this.redraw(), {rootMargin: '300px'});

  async reload(): Promise<void> {
    const layout = await getJson('/data/plugin/custom_scalars/layout');
    const known = JSON.stringify(layout);
    if (known !== this.known) this.make(layout.category || []);
    this.known = known;
    this.redraw();
  }

  private make(categories: Category[]): void {
    this.cards.clear();
    this.watcher.disconnect();
    this.root.replaceChildren(...categories.map((category, i) => {
      const cards = category.chart.map((chart, k) => {
        const label = `${category.title}: ${chart.title}`, key = `${i}/${k}`;
        const card = new LineCard({heading: chart.title, label, nothing: NOTHING, ask: () => seriesOf(chart),
          arrange: series => chart.margin?.series?.length ? banded(series, chart.margin.series) : named(series)});
        card.root.dataset.key = key;
        this.cards.set(key, card);
        this.watcher.observe(card.root);
        return card.root;
      });
      const details = element('details', {}, element('summary', {}, `${category.title} (${cards.length})`),
        element('div', {class: 'cards'}, ...cards));
      details.open = !category.closed;
      details.ontoggle = () => this.redraw();
      return details;
    }));
    if (!categories.length) {
      this.root.replaceChildren(element('p', {}, 'No program has laid out charts of its scalars.'));
    }
  }

  redraw(): void {
    for (const card of this.cards.values()) {
      if (isNear(card.root.getBoundingClientRect())) card.show();
    }
  }

  draw(): void {
    for (const card of this.cards.values()) {
      if (isNear(card.root.getBoundingClientRect())) card.draw();
    }
  }
}
