// What the mouse and fingers do on a canvas.
export interface Point { x: number; y: number }

// Calls |onMove| while a pointer is down and moves, with where it was, where it is, and where other
// pointers are that are down too; and |onTap| where one was let go and had hardly moved.
export function followPointers(canvas: HTMLCanvasElement, onMove: (last: Point, now: Point, others: Point[]) => void,
                               onTap: (x: number, y: number) => void): void {
  const pointers = new Map<number, Point>();
  let moved = 0;
  canvas.onpointerdown = event => {
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, {x: event.offsetX, y: event.offsetY});
    moved = 0;
  };
  canvas.onpointermove = event => {
    const last = pointers.get(event.pointerId);
    if (!last) return;
    const now = {x: event.offsetX, y: event.offsetY};
    moved += Math.abs(now.x - last.x) + Math.abs(now.y - last.y);
    onMove(last, now, [...pointers].filter(([id]) => id !== event.pointerId).map(([, p]) => p));
    pointers.set(event.pointerId, now);
  };
  canvas.onpointerup = canvas.onpointercancel = event => {
    pointers.delete(event.pointerId);
    if (event.type === 'pointerup' && moved < 4) onTap(event.offsetX, event.offsetY);
  };
}
