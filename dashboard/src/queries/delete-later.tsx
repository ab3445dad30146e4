import { Group } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import type { KeyframeClient } from "../../../client/index.ts";
import { useServices } from "../services.ts";
import { SmallButton } from "../ui/buttons.tsx";
import { unlessGone } from "../ui/errors.ts";
import { notifyError } from "../ui/notices.tsx";
import { CHANGES_NOTHING, forget, readAgain } from "./query-client.ts";

const UNDO_MS = 10_000;

/** Ids that are deleted, or about to be: no list shows them. An id is never reused, so deleted ones are kept. */
let deleted: ReadonlySet<string> = new Set();
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
export const useDeleted = (): ReadonlySet<string> => useSyncExternalStore(follow, () => deleted);

/** A new order of the ids that are shown, with those that are about to be deleted where they were. */
export function withDeleted(all: string[], shown: string[]): string[] {
  const waiting = [...shown];
  const whole = all.flatMap((id) => (deleted.has(id) ? id : (waiting.shift() ?? [])));
  return [...whole, ...waiting];
}

/** The functions that undo, the newest last. */
let undos: (() => void)[] = [];

const isEdited = (target: EventTarget | null) => target instanceof HTMLElement && target.matches("input, textarea");

type Deletion = { id: string; title: string; remove: (keyframe: KeyframeClient) => Promise<unknown> };

/**
 * Hides something at once and deletes it after ten seconds, in which a toast or Ctrl+Z can undo it, or when the page is left. Fails when
 * it cannot be deleted then, because no user is signed in.
 */
export function useDeleteLater({ id, title, remove }: Deletion, onHidden: () => void) {
  const { openLastClient } = useServices();
  const queries = useQueryClient();
  const hide = async (): Promise<void> => {
    const keyframe = await openLastClient();
    const settle = () => {
      clearTimeout(timer);
      removeEventListener("pagehide", finish);
      removeEventListener("keydown", press);
      undos = undos.filter((one) => one !== undo);
      notifications.hide(id);
    };
    const show = () => setDeleted([...deleted].filter((one) => one !== id));
    const finish = () => {
      settle();
      remove(keyframe)
        .catch(unlessGone)
        .then(() => forget(queries, id))
        .catch((error: unknown) => {
          show();
          notifyError(`Could not delete “${title}”`, error);
        })
        .finally(() => void readAgain(queries));
    };
    const undo = () => {
      settle();
      show();
      document.querySelector("main")?.focus(); // the button is gone
    };
    const press = (event: KeyboardEvent) => {
      const isUndo = (event.ctrlKey || event.metaKey) && !event.shiftKey && event.key === "z";
      if (!isUndo || isEdited(event.target) || undos.at(-1) !== undo) return;
      event.preventDefault();
      undo();
    };
    const timer = setTimeout(finish, UNDO_MS);
    addEventListener("pagehide", finish);
    addEventListener("keydown", press);
    undos = [...undos, undo];
    setDeleted([...deleted, id]);
    notifications.show({
      id,
      autoClose: false, // `settle` closes it
      withCloseButton: false,
      message: (
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
      ),
    });
  };
  return useMutation({ meta: CHANGES_NOTHING, mutationFn: hide, onSuccess: onHidden });
}
