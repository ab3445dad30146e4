import { Group } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useCallback, useSyncExternalStore } from "react";
import type { KeyframeClient } from "../../../client/index.ts";
import { useServices } from "../services.ts";
import { SmallButton } from "../ui/buttons.tsx";
import { unlessGone } from "../ui/errors.ts";
import { notifyError } from "../ui/notices.tsx";
import { CHANGES_NOTHING, forget, readAgain } from "./query-client.ts";

const UNDO_MS = 10_000;

type Ids = ReadonlySet<string>;

/** Ids that are deleted, or about to be: no list shows them. An id is never reused, so deleted ones are kept. */
let deleted: Ids = new Set();
const followers = new Set<() => void>();
const setDeleted = (ids: Iterable<string>) => {
  deleted = new Set(ids);
  for (const follow of followers) follow();
};
const follow = (follower: () => void) => {
  followers.add(follower);
  return () => followers.delete(follower);
};

/** The ids that are deleted, and those about to be. */
export const useDeleted = (): Ids => useSyncExternalStore(follow, () => deleted);

/** The `select` of a query that shows nothing deleted. `without` must be a constant. */
export function useSelectShown<Data>(without: (data: Data, deleted: Ids) => Data): (data: Data) => Data {
  const ids = useDeleted();
  return useCallback((data) => without(data, ids), [without, ids]);
}

/** A new order of the ids that are shown, with those that are about to be deleted where they were. */
export function withDeleted(all: string[], shown: string[]): string[] {
  const waiting = [...shown];
  const whole = all.flatMap((id) => (deleted.has(id) ? id : (waiting.shift() ?? [])));
  return [...whole, ...waiting];
}

type Deletion = { id: string; title: string; remove: (keyframe: KeyframeClient) => Promise<unknown> };

/**
 * Hides something at once and deletes it after ten seconds, in which a toast or Ctrl+Z can undo it, or when the page is left. Fails when
 * it cannot be deleted then, because no user is signed in.
 */
export function useDeleteLater({ id, title, remove }: Deletion, onHidden: () => void) {
  const { openLastClient } = useServices();
  const queries = useQueryClient();
  const deleteNow = (keyframe: KeyframeClient) =>
    remove(keyframe)
      .catch(unlessGone)
      .then(() => forget(queries, id))
      .catch((error: unknown) => {
        show(id);
        notifyError(`Could not delete “${title}”`, error);
      })
      .finally(() => void readAgain(queries));
  return useMutation({
    meta: CHANGES_NOTHING,
    mutationFn: async () => {
      const keyframe = await openLastClient();
      hide(id, title, () => void deleteNow(keyframe));
    },
    onSuccess: onHidden,
  });
}

const show = (id: string) => setDeleted([...deleted].filter((one) => one !== id));

/** The functions that undo, the newest last. */
let undos: (() => void)[] = [];

const isEdited = (target: EventTarget | null) => target instanceof HTMLElement && target.matches("input, textarea");

/** Calls `onEnd` when it can no longer be undone. */
function hide(id: string, title: string, onEnd: () => void): void {
  const settle = () => {
    clearTimeout(timer);
    removeEventListener("pagehide", end);
    removeEventListener("keydown", press);
    undos = undos.filter((one) => one !== undo);
    notifications.hide(id);
  };
  const end = () => {
    settle();
    onEnd();
  };
  const undo = () => {
    settle();
    show(id);
    document.querySelector("main")?.focus(); // the button is gone
  };
  const press = (event: KeyboardEvent) => {
    const isUndo = (event.ctrlKey || event.metaKey) && !event.shiftKey && event.key === "z";
    if (!isUndo || isEdited(event.target) || undos.at(-1) !== undo) return;
    event.preventDefault();
    undo();
  };
  const timer = setTimeout(end, UNDO_MS);
  addEventListener("pagehide", end);
  addEventListener("keydown", press);
  undos = [...undos, undo];
  setDeleted([...deleted, id]);
  notifications.show({
    id,
    autoClose: false, // `settle` closes it
    withCloseButton: false,
    message: <UndoToast title={title} undo={undo} />,
  });
}

const UndoToast = ({ title, undo }: { title: string; undo: () => void }) => (
  <Group justify="space-between" wrap="nowrap">
    <span style={{ overflowWrap: "anywhere" }}>“{title}” is deleted.</span>
    <SmallButton
      style={{ flex: "none" }}
      onClick={undo}
      aria-label={`Undo: delete ${title}`}
      aria-keyshortcuts="Control+Z"
      title="Ctrl+Z"
    >
      Undo
    </SmallButton>
  </Group>
);
