import { useEffect, useState } from "react";

/**
 * For windows that come into being open: they remember whom to give the focus back to only when they open after that. So this
 * is false first, and then what is given.
 */
export function useOpened(isOpen: boolean): boolean {
  const [opened, setOpened] = useState(false);
  useEffect(() => setOpened(isOpen), [isOpen]);
  return opened;
}
