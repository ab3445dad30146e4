import type { UseDragState } from "@mantine/hooks";
import { type CSSProperties, useState } from "react";
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

/** `boxes`: the positions of all items when the drag began. Items move during a drag, so they are not measured again. */
type Drag = { from: number; to: number; by: number; startY: number; items: Element[]; boxes: DOMRect[] };

/** Reorders a list by handles that mouse, pen or finger drags. `useDrag` of each handle calls `onDrag`. */
function useDragOrder(onDrop: (from: number, to: number) => void) {
  const [drag, setDrag] = useState<Drag | null>(null);

  const onDrag = (from: number, { first, last, canceled, event: { target, pageY } }: UseDragState) => {
    if (first && target instanceof Element) {
      const items = [...(target.closest("ol")?.children ?? [])];
      const boxes = items.map((item) => item.getBoundingClientRect());
      return setDrag({ from, to: from, by: 0, startY: pageY, items, boxes });
    }
    if (last) setDrag(null);
    const box = drag?.boxes[from];
    if (!drag || !box || canceled) return;
    const by = pageY - drag.startY;
    const edge = by + (by > 0 ? box.bottom : box.top);
    const to = drag.boxes.filter((one, at) => at !== from && one.top + one.height / 2 < edge).length;
    if (!last) {
      if (to !== drag.to) drag.items[to]?.scrollIntoView({ block: "nearest" });
      setDrag({ ...drag, by, to });
    } else if (to !== from) onDrop(from, to);
  };

  const styleOf = (at: number): CSSProperties => {
    if (drag === null) return {};
    const { from, to, by, boxes } = drag;
    if (at === from) return { transform: `translateY(${by}px)`, zIndex: 1, opacity: 0.9 };
    if (at < Math.min(from, to) || at > Math.max(from, to)) return {};
    const room = `calc(${boxes[from]?.height ?? 0}px + var(--mantine-spacing-sm))`;
    return { transform: `translateY(calc(${to > from ? -1 : 1} * ${room}))` };
  };
  return { onDrag, styleOf };
}
