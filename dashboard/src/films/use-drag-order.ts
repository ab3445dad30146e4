import { type CSSProperties, type PointerEvent, useState } from "react";

/** All in pixels of the page. `step`: how far the others move aside. */
type Drag = {
  from: number;
  to: number;
  by: number;
  startY: number;
  step: number;
  top: number;
  bottom: number;
  middles: number[];
};

/** Orders the items of a list by handles that are dragged with mouse, pen or finger. A library for it is 15 kB or more. */
export function useDragOrder(onDrop: (from: number, to: number) => void) {
  const [drag, setDrag] = useState<Drag | null>(null);
  const end = () => setDrag(null);

  const handleOf = (from: number) => ({
    style: { touchAction: "none", cursor: "grab" } as const,
    onPointerDown: (event: PointerEvent<HTMLElement>) => {
      const boxes = [...(event.currentTarget.closest("ol")?.children ?? [])].map((item) =>
        item.getBoundingClientRect(),
      );
      const box = boxes[from];
      if (!box || event.button !== 0) return;
      event.preventDefault(); // selects no text
      event.currentTarget.setPointerCapture(event.pointerId);
      const step = (boxes[from + 1]?.top ?? box.bottom) - (boxes[from + 1] ? box.top : (boxes[from - 1]?.bottom ?? 0));
      const [top, bottom] = [box.top + window.scrollY, box.bottom + window.scrollY];
      const middles = boxes.map((one) => (one.top + one.bottom) / 2 + window.scrollY);
      setDrag({ from, to: from, by: 0, startY: event.pageY, step, top, bottom, middles });
    },
    onPointerMove: (event: PointerEvent<HTMLElement>) => {
      if (drag === null) return;
      const by = event.pageY - drag.startY;
      const edge = by > 0 ? drag.bottom + by : drag.top + by;
      const to = drag.middles.filter((middle, at) => at !== from && middle < edge).length;
      if (to !== drag.to) event.currentTarget.closest("ol")?.children[to]?.scrollIntoView({ block: "nearest" });
      setDrag({ ...drag, by, to });
    },
    onPointerUp: () => {
      if (drag !== null && drag.to !== from) onDrop(from, drag.to);
      end();
    },
    onPointerCancel: end,
  });

  const styleOf = (at: number): CSSProperties => {
    if (drag === null) return {};
    const { from, to, by, step } = drag;
    if (at === from) return { transform: `translateY(${by}px)`, zIndex: 1, opacity: 0.9 };
    const isBetween = at > Math.min(from - 1, to - 1) && at < Math.max(from + 1, to + 1);
    return isBetween ? { transform: `translateY(${to > from ? -step : step}px)` } : {};
  };
  return { handleOf, styleOf };
}
