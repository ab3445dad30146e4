import { useMemo, useSyncExternalStore } from "react";
import { useUserId } from "./use-session.ts";

const PREFIX = "keyframe-draft";
const keyOf = (userId: string, name: string) => [PREFIX, userId, name].join(" ");

/** Drafts that the browser cannot store: its storage is blocked or full. */
const unstored = new Map<string, string>();
const listeners = new Set<() => void>();

const subscribe = (listener: () => void) => {
  listeners.add(listener);
  addEventListener("storage", listener); // changes in other tabs
  return () => {
    listeners.delete(listener);
    removeEventListener("storage", listener);
  };
};

function textOf(key: string): string | null {
  try {
    return unstored.get(key) ?? localStorage.getItem(key);
  } catch {
    return null; // the storage is blocked
  }
}

/** A damaged text is no draft. */
function parse<Draft>(text: string | null, initial: Draft): Draft {
  try {
    const draft = JSON.parse(text ?? "null");
    return draft instanceof Object && Array.isArray(draft) === Array.isArray(initial) ? draft : initial;
  } catch {
    return initial;
  }
}

function write(key: string, text: string | null): void {
  unstored.delete(key);
  try {
    if (text === null) localStorage.removeItem(key);
    else localStorage.setItem(key, text);
  } catch {
    if (text !== null) unstored.set(key, text);
  }
  for (const each of listeners) each();
}

/** What a user typed and has not saved. A draft outlives a reload and an expired session, and shows in all tabs. */
export function draftOf<Draft>(userId: string, name: string, initial: Draft) {
  const key = keyOf(userId, name);
  return {
    text: () => textOf(key),
    read: () => parse(textOf(key), initial),
    /** Edits the stored draft: the rendered one may be older than a change by another component or tab. */
    change: (edit: (draft: Draft) => Draft) => {
      const text = JSON.stringify(edit(parse(textOf(key), initial)));
      write(key, text === JSON.stringify(initial) ? null : text);
    },
  };
}

/** The draft of the signed-in user. `initial` must be a constant. */
export function useDraft<Draft>(name: string, initial: Draft) {
  const draft = draftOf(useUserId(), name, initial);
  const text = useSyncExternalStore(subscribe, draft.text);
  return [useMemo(() => parse(text, initial), [text, initial]), draft.change] as const;
}

const storedKeys = (): string[] => {
  try {
    return [...unstored.keys(), ...Object.keys(localStorage)];
  } catch {
    return [...unstored.keys()];
  }
};

export function draftNames(userId: string): string[] {
  const prefix = keyOf(userId, "");
  return storedKeys().flatMap((key) => (key.startsWith(prefix) ? key.slice(prefix.length) : []));
}

/** Drops the drafts of all other users. Without `userId`, drops all. */
export function keepDraftsOf(userId: string | undefined): void {
  for (const key of storedKeys()) {
    const isOther = userId === undefined || !key.startsWith(keyOf(userId, ""));
    if (key.startsWith(PREFIX) && isOther) write(key, null);
  }
}
