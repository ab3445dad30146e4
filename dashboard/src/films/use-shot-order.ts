import { type CSSProperties, type PointerEvent, useState } from "react";
import type { FilmWithShots } from "../../../client/index.ts";
import { useChangeFilm } from "../queries/film-queries.ts";

export type ShotOrder = ReturnType<typeof useShotOrder>;

/** Moves shots, by buttons and by dragging. `moved` says which one was moved where. */
export function useShotOrder(film: FilmWithShots) {
  const { shots, projectIds } = film;
  const change = useChangeFilm(film);
  const [moved, setMoved] = useState("");
  const move = (from: number, to: number) => {
    if (change.isPending || to < 0 || to >= shots.length) return;
    const order = projectIds.toSpliced(from, 1).toSpliced(to, 0, projectIds[from] ?? "");
    const words = `${shots[from]?.title} is shot ${to + 1} of ${shots.length}.`;
    change.mutate({ projectIds: order }, { onSuccess: () => setMoved(words) });
  };
  return { move, moved, error: change.error, ...useDragOrder(move) };
}

/** `boxes`: of all items when it began. The others are moved, so they are not measured again. */
type Drag = { from: number; to: number; by: number; startY: number; boxes: DOMRect[] };

/** Orders the items of a list by handles that are dragged with mouse, pen or finger. A library for it is 15 kB or more. */
function useDragOrder(onDrop: (from: number, to: number) => void) {
  const [drag, setDrag] = useState<Drag | null>(null);
  const end = () => setDrag(null);
  const itemsOf = (handle: HTMLElement) => [...(handle.closest("ol")?.children ?? [])];

  /** From the event: what an event before it has set may not be rendered yet. */
  const dragTo = ({ pageY }: PointerEvent): Drag | null => {
    const box = drag?.boxes[drag.from];
    if (!drag || !box) return null;
    const by = pageY - drag.startY;
    const edge = by + (by > 0 ? box.bottom : box.top);
    const to = drag.boxes.filter((one, at) => at !== drag.from && one.top + one.height / 2 < edge).length;
    return { ...drag, by, to };
  };

  const handleOf = (from: number) => ({
    style: { touchAction: "none", cursor: "grab" } as const,
    onPointerDown: (event: PointerEvent<HTMLElement>) => {
      if (event.button !== 0) return;
      event.preventDefault(); // selects no text
      event.currentTarget.setPointerCapture(event.pointerId);
      const boxes = itemsOf(event.currentTarget).map((item) => item.getBoundingClientRect());
      setDrag({ from, to: from, by: 0, startY: event.pageY, boxes });
    },
    onPointerMove: (event: PointerEvent<HTMLElement>) => {
      const next = dragTo(event);
      if (next && next.to !== drag?.to) itemsOf(event.currentTarget)[next.to]?.scrollIntoView({ block: "nearest" });
      setDrag(next);
    },
    onPointerUp: (event: PointerEvent<HTMLElement>) => {
      const to = dragTo(event)?.to ?? from;
      if (to !== from) onDrop(from, to);
      end();
    },
    onPointerCancel: end,
  });

  const styleOf = (at: number): CSSProperties => {
    if (drag === null) return {};
    const { from, to, by, boxes } = drag;
    if (at === from) return { transform: `translateY(${by}px)`, zIndex: 1, opacity: 0.9 };
    if (at < Math.min(from, to) || at > Math.max(from, to)) return {};
    const room = `calc(${boxes[from]?.height ?? 0}px + var(--mantine-spacing-sm))`;
    return { transform: `translateY(calc(${to > from ? -1 : 1} * ${room}))` };
  };
  return { handleOf, styleOf };
}
