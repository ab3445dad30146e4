import { readLocalStorageValue, useLocalStorage } from "@mantine/hooks";
import { useSession } from "./use-session.ts";

const PREFIX = "keyframe-draft";
const keyOf = (userId: string, name: string) => [PREFIX, userId, name].join(" ");

/** What a user typed and has not saved: stays through a reload and an expired session, in all tabs. `initial` must be a constant. */
export function useDraft<Draft>(name: string, initial: Draft) {
  const { session } = useSession();
  const key = keyOf(session?.user.id ?? "", name);
  const [draft, write] = useLocalStorage<Draft>({ key, defaultValue: initial, getInitialValueInEffect: false });
  // From what is stored: what was rendered may be older than a change by another component or tab. A full storage has nothing.
  const change = (edit: (draft: Draft) => Draft) => write(edit(readLocalStorageValue({ key, defaultValue: draft })));
  return [draft, change] as const;
}

/** Drops the drafts of all other users; without `userId`, all. */
export function keepDraftsOf(userId: string | undefined): void {
  let stored: string[];
  try {
    stored = Object.keys(localStorage);
  } catch {
    return; // the browser lets the page store nothing
  }
  for (const key of stored) {
    const isOther = userId === undefined || !key.startsWith(keyOf(userId, ""));
    if (key.startsWith(PREFIX) && isOther) localStorage.removeItem(key);
  }
}
