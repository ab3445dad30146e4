import { notifications } from "@mantine/notifications";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useCallback } from "react";
import type { KeyframeClient } from "../../../client/index.ts";
import { useServices } from "../services.ts";
import { type Ids, useUserMemory } from "../session/UserMemory.tsx";
import { unlessGone } from "../ui/errors.ts";
import { notifyDeleted, notifyError } from "../ui/Notices.tsx";
import { CHANGES_NOTHING, forget, readAgain } from "./query-client.ts";

const UNDO_MS = 10_000;

export const useDeleted = (): Ids => useUserMemory().deleted;

/** The `select` of a query that shows nothing deleted. `without` must be a constant. */
export function useSelectShown<Data, Shown>(without: (data: Data, deleted: Ids) => Shown): (data: Data) => Shown {
  const ids = useDeleted();
  return useCallback((data) => without(data, ids), [without, ids]);
}

/** The order of all ids after a new order of the shown ones. Ids that are about to be deleted keep their place. */
export function withDeleted(all: string[], shown: string[], deleted: Ids): string[] {
  const waiting = [...shown];
  const whole = all.flatMap((id) => (deleted.has(id) ? id : (waiting.shift() ?? [])));
  return [...whole, ...waiting];
}

type Deletion = { id: string; title: string; remove: (keyframe: KeyframeClient) => Promise<unknown> };

/**
 * Hides something at once, and deletes it after ten seconds, or earlier if the user leaves the page or signs out. Until then, a toast or
 * Ctrl+Z can undo it. Fails if no user is signed in, because it could not delete then.
 */
export function useDeleteLater({ id, title, remove }: Deletion, onHidden: () => void) {
  const { openLastClient } = useServices();
  const queries = useQueryClient();
  const { setDeleted, pending } = useUserMemory();
  const show = () => setDeleted((ids) => new Set([...ids].filter((one) => one !== id)));
  const deleteNow = (keyframe: KeyframeClient) =>
    remove(keyframe)
      .catch(unlessGone)
      .then(() => forget(queries, id))
      .catch((error: unknown) => {
        show();
        notifyError(`Could not delete “${title}”`, error);
      })
      .finally(() => void readAgain(queries));
  return useMutation({
    meta: CHANGES_NOTHING,
    mutationFn: async () => {
      const keyframe = await openLastClient();
      setDeleted((ids) => new Set([...ids, id]));
      offerUndo({ id, title, pending, onUndo: show, onEnd: () => void deleteNow(keyframe) });
    },
    onSuccess: onHidden,
  });
}

const isEdited = (target: EventTarget | null) => target instanceof HTMLElement && target.matches("input, textarea");

type Offer = { id: string; title: string; pending: Set<() => void>; onUndo: () => void; onEnd: () => void };

/** Calls `onEnd` when the deletion can no longer be undone. */
function offerUndo({ id, title, pending, onUndo, onEnd }: Offer): void {
  const settle = () => {
    clearTimeout(timer);
    removeEventListener("pagehide", end);
    removeEventListener("keydown", undoByKey);
    pending.delete(end);
    notifications.hide(id);
  };
  const end = () => {
    settle();
    onEnd();
  };
  const undo = () => {
    settle();
    onUndo();
    document.querySelector("main")?.focus(); // the Undo button is gone
  };
  const undoByKey = (event: KeyboardEvent) => {
    const isUndo = (event.ctrlKey || event.metaKey) && !event.shiftKey && event.key === "z";
    if (!isUndo || isEdited(event.target) || [...pending].at(-1) !== end) return;
    event.preventDefault();
    undo();
  };
  const timer = setTimeout(end, UNDO_MS);
  addEventListener("pagehide", end);
  addEventListener("keydown", undoByKey);
  pending.add(end);
  notifyDeleted({ id, title, onUndo: undo });
}
