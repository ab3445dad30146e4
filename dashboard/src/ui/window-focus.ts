import { type RefObject, useEffect, useRef, useState } from "react";

/**
 * Focuses a field when it mounts. A modal focuses its first field when it opens, which is too early for a form that loads
 * lazily.
 */
export function useFocusOnMount<Element extends HTMLElement>(isWanted = true): RefObject<Element | null> {
  const field = useRef<Element>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when it appears
  useEffect(() => {
    if (isWanted) field.current?.focus();
  }, []);
  return field;
}

/** False first, then `isOpen`. A modal that mounts open does not remember where to return the focus. */
export function useOpened(isOpen: boolean): boolean {
  const [opened, setOpened] = useState(false);
  useEffect(() => setOpened(isOpen), [isOpen]);
  return opened;
}

/** The last value that was not null: a window keeps what it shows while it closes. */
export function useLast<Value>(value: Value | null): Value | null {
  const [last, setLast] = useState(value);
  if (value !== null && value !== last) setLast(value);
  return value ?? last;
}
