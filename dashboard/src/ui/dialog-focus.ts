import { useEffect, useState, useSyncExternalStore } from "react";

export type DialogProps = { isOpen: boolean; onClose: () => void };

/** A ref that focuses an element that appears later than its dialog: a modal sets the focus when it opens. */
export const focusOnMount = (element: HTMLElement | null): void => element?.focus({ preventScroll: true });

/** Puts the focus on the first field with a problem, by its name. Returns whether there is one. */
export function focusProblem(form: HTMLFormElement, problems: Record<string, string | null | undefined>): boolean {
  const [name] = Object.entries(problems).find(([, problem]) => problem != null) ?? [];
  if (name !== undefined) form.querySelector<HTMLElement>(`[name=${name}]`)?.focus();
  return name !== undefined;
}

/** A ref of a button that may disappear: then the focus moves. */
export const movesFocus = (move: () => void) => (button: HTMLElement | null) => () => {
  if (button === document.activeElement) queueMicrotask(() => button?.isConnected || move());
};

/** False at first, then `isOpen`: a modal that mounts open does not remember where to return the focus. */
function useOpened(isOpen: boolean): boolean {
  const [opened, setOpened] = useState(false);
  useEffect(() => setOpened(isOpen), [isOpen]);
  return opened;
}

/** The dialogs that are open, the latest last. */
let dialogs: symbol[] = [];
const listeners = new Set<() => void>();
const changeDialogs = (changed: symbol[]) => {
  dialogs = changed;
  for (const listener of listeners) listener();
};
const subscribe = (listener: () => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

/** Whether this dialog was opened last. Only that one may close on Escape, because each listens to the whole page. */
function useIsOnTop(isOpen: boolean): boolean {
  const [id] = useState(() => Symbol("dialog"));
  useEffect(() => {
    if (!isOpen) return;
    changeDialogs([...dialogs, id]);
    return () => changeDialogs(dialogs.filter((other) => other !== id));
  }, [id, isOpen]);
  return useSyncExternalStore(subscribe, () => dialogs.at(-1) === id);
}

/** What a modal or a drawer needs to return the focus, and to close on Escape only if it is the latest. */
export const useModal = ({ isOpen, onClose }: DialogProps) => ({
  opened: useOpened(isOpen),
  closeOnEscape: useIsOnTop(isOpen),
  removeScrollProps: { removeScrollBar: false }, // app.css reserves the bar's width: without the bar, the page would jump
  onClose,
});

/** Moves a lost focus to the top dialog, or to the page. */
function focusIfLost(): void {
  const focused = document.activeElement;
  const top = [...document.querySelectorAll<HTMLElement>("[role=dialog]")].at(-1);
  if (top?.contains(focused) ?? focused !== document.body) return;
  (top ?? document.querySelector("main"))?.focus();
}

/** After this time, a closed dialog has returned the focus, if the element that had it still exists. */
const AFTER_RETURN_MS = 50;

/** Keeps the focus in the dialogs when this one closes, or when `key` says that its content has changed. */
export function KeepFocus(): null {
  useEffect(() => () => void setTimeout(focusIfLost, AFTER_RETURN_MS), []);
  return null;
}

/** The last value that was not null: a dialog keeps what it shows while it closes. */
export function useLast<Value>(value: Value | null): Value | null {
  const [last, setLast] = useState(value);
  if (value !== null && value !== last) setLast(value);
  return value ?? last;
}
