import { IconPlayerStop } from "@tabler/icons-react";
import { useLayoutEffect, useRef } from "react";
import { BusyButton } from "../ui/BusyButton.tsx";

type Props = { isBusy: boolean; onCancel: () => void; onGoneWithFocus: () => void };

/** Goes when the run has ended; if it has the focus then, that must go somewhere. */
export function CancelRun({ isBusy, onCancel, onGoneWithFocus }: Props) {
  const button = useRef<HTMLButtonElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: it is about the end of the button alone
  useLayoutEffect(() => {
    const here = button.current;
    return () => {
      if (here !== null && here === document.activeElement) queueMicrotask(onGoneWithFocus);
    };
  }, []);
  return (
    <BusyButton
      ref={button}
      variant="default"
      size="sm"
      isBusy={isBusy}
      leftSection={<IconPlayerStop size={16} aria-hidden />}
      onClick={onCancel}
    >
      {isBusy ? "Canceling…" : "Cancel"}
    </BusyButton>
  );
}
