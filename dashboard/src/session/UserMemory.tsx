import { createSafeContext } from "@mantine/core";
import { type Dispatch, type ReactNode, type SetStateAction, useEffect, useMemo, useState } from "react";

export type Ids = ReadonlySet<string>;

type UserMemory = {
  /** The save under way of each project's plan. Saves run one after the other: two at once would refuse each other. */
  saving: Map<string, Promise<void>>;
  /** The deletions that can still be undone, newest last. A call deletes at once. */
  pending: Set<() => void>;
  /** Ids that are deleted, or about to be: no list shows them. Ids are never reused, so deleted ones stay. */
  deleted: Ids;
  setDeleted: Dispatch<SetStateAction<Ids>>;
};

const [UserMemoryContext, useUserMemory] = createSafeContext<UserMemory>(
  "useUserMemory must be called inside UserMemoryProvider.",
);
export { useUserMemory };

/** Data that must outlive the pages of a user. When the user leaves, pending deletions run. */
export function UserMemoryProvider({ children }: { children: ReactNode }) {
  const [kept] = useState(() => ({ saving: new Map<string, Promise<void>>(), pending: new Set<() => void>() }));
  const [deleted, setDeleted] = useState<Ids>(new Set());
  const memory = useMemo(() => ({ ...kept, deleted, setDeleted }), [kept, deleted]);
  useEffect(
    () => () => {
      for (const deleteNow of [...kept.pending]) deleteNow();
    },
    [kept],
  );
  return <UserMemoryContext value={memory}>{children}</UserMemoryContext>;
}
