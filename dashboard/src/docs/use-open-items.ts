import { useCallback, useEffect, useState } from "react";
import { useLocation, useNavigate } from "react-router";
import { itemOf, searchOf } from "./item-address.ts";

/** Set on a navigation that only keeps the address up to date with what the person opened. */
const STAYS = { stays: true };

/** Which items are open. The last one opened is in the address, to link to; a link opens its item and goes there. */
export function useOpenItems(onFollow: () => void) {
  const { search, state, key } = useLocation();
  const navigate = useNavigate();
  const [open, setOpen] = useState<string[]>([]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each navigation: `key` is another for a link, `search` for an address typed in
  useEffect(() => {
    const item = itemOf(search);
    if (item === null || (state as { stays?: true } | null)?.stays) return; // the state is ours alone
    onFollow();
    setOpen((others) => (others.includes(item) ? others : [...others, item]));
    // After React has shown what the filter may have hidden.
    const frame = requestAnimationFrame(() => reveal(item));
    return () => cancelAnimationFrame(frame);
  }, [key, search]);

  /** Takes what is open now among `ids`. */
  const change = useCallback(
    (ids: string[], nowOpen: string[]) => {
      const added = nowOpen.find((id) => !open.includes(id));
      setOpen([...open.filter((id) => !ids.includes(id)), ...nowOpen]);
      const shown = itemOf(search);
      const next = added ?? (shown !== null && ids.includes(shown) && !nowOpen.includes(shown) ? null : shown);
      void navigate({ search: searchOf(next) }, { replace: true, state: STAYS });
    },
    [open, search, navigate],
  );

  return { open, change };
}

function reveal(item: string): void {
  const element = document.getElementById(item);
  element?.scrollIntoView({ block: "start" });
  element?.querySelector("button")?.focus({ preventScroll: true });
}
