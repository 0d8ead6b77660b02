// Makes an SVG of the calls that draw on a canvas (chart.ts). Only what the charts use is there.
import type {Pen} from './chart';
import {cssColour} from './dom';

const escape = (text: string) => text.replace(/[&<>"]/g, c => `&#${c.charCodeAt(0)};`);
const round = (x: number) => String(Math.round(x * 100) / 100);

export class SvgPen implements Pen {
  lineWidth = 1;
  strokeStyle: Pen['strokeStyle'] = 'black';
  fillStyle: Pen['fillStyle'] = 'black';
  globalAlpha = 1;
  font = '12px sans-serif';
  textAlign: CanvasTextAlign = 'start';
  textBaseline: CanvasTextBaseline = 'alphabetic';
  private dash: number[] = [];
  private path = '';
  private readonly parts: string[] = [];
  private groups = 0;  // that clip and are open
  private clips = 0;
  private readonly ruler = document.createElement('canvas').getContext('2d') as CanvasRenderingContext2D;

  constructor(readonly width: number, readonly height: number) {}

  beginPath(): void { this.path = ''; }
  moveTo(x: number, y: number): void { this.path += `M${round(x)} ${round(y)}`; }
  lineTo(x: number, y: number): void { this.path += `L${round(x)} ${round(y)}`; }
  rect(x: number, y: number, w: number, h: number): void {
    this.path += `M${round(x)} ${round(y)}h${round(w)}v${round(h)}h${round(-w)}z`;
  }
  setLineDash(dash: Iterable<number>): void { this.dash = [...dash]; }
  save(): void {}

  stroke(): void {
    const dash = this.dash.length ? ` stroke-dasharray="${this.dash.join(' ')}"` : '';
    this.parts.push(`<path d="${this.path}" fill="none" stroke="${this.strokeStyle}" stroke-width="` +
      `${this.lineWidth}" opacity="${this.globalAlpha}"${dash}/>`);
  }

  fill(): void {
    this.parts.push(`<path d="${this.path}" fill="${this.fillStyle}" opacity="${this.globalAlpha}"/>`);
  }

  fillRect(x: number, y: number, w: number, h: number): void {
    this.beginPath();
    this.rect(x, y, w, h);
    this.fill();
  }

  clip(): void {
    this.parts.push(`<clipPath id="c${++this.clips}"><path d="${this.path}"/></clipPath>` +
      `<g clip-path="url(#c${this.clips})">`);
    ++this.groups;
  }

  restore(): void {
    if (!this.groups) return;
    this.parts.push('</g>');
    --this.groups;
  }

  measureText(text: string): TextMetrics {
    this.ruler.font = this.font;
    return this.ruler.measureText(text);
  }

  fillText(text: string, x: number, y: number): void {
    const anchor = {center: 'middle', right: 'end', end: 'end', left: 'start', start: 'start'}[this.textAlign];
    const shift = this.textBaseline === 'middle' ? 4 : this.textBaseline === 'top' ? 11 : 0;
    this.parts.push(`<text x="${round(x)}" y="${round(y + shift)}" text-anchor="${anchor}" ` +
      `fill="${this.fillStyle}">${escape(text)}</text>`);
  }

  finish(title: string): string {
    while (this.groups) this.restore();
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${this.width}" height="${this.height}" ` +
      `font-family="system-ui, sans-serif" font-size="12"><title>${escape(title)}</title>` +
      `<rect width="100%" height="100%" fill="${cssColour('--card')}"/>${this.parts.join('')}</svg>\n`;
  }
}
