import { type RefObject, useEffect, useRef } from "react";

/**
 * Puts the focus on a field when it appears. A window looks for its first field when it opens; one whose form is loaded
 * only then comes too late for that.
 */
export function useFocusOnMount<Element extends HTMLElement>(isWanted = true): RefObject<Element | null> {
  const field = useRef<Element>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when it appears
  useEffect(() => {
    if (isWanted) field.current?.focus();
  }, []);
  return field;
}
