import { Button, VisuallyHidden } from "@mantine/core";
import { useLayoutEffect, useRef } from "react";

type Props = { count: number; onShow: () => void; onGoneWithFocus: () => void };

/**
 * Says that deliveries wait to be shown, while the list stands still for whoever reads in it. Short, to fit beside a
 * heading on a phone.
 */
export function NewerDeliveries({ count, onShow, onGoneWithFocus }: Props) {
  const button = useRef<HTMLButtonElement>(null);
  const had = useRef(false);
  useLayoutEffect(() => {
    if (count === 0 && had.current) onGoneWithFocus();
    had.current = false;
  });
  return (
    <>
      <VisuallyHidden role="status">
        {count > 0 && (count === 1 ? "A new delivery" : `${count} new deliveries`)}
      </VisuallyHidden>
      {count > 0 && (
        <Button
          ref={button}
          size="xs"
          variant="light"
          aria-label={`Show ${count} new`}
          px="xs"
          onClick={() => {
            had.current = button.current === document.activeElement;
            onShow();
          }}
        >
          {count} new
        </Button>
      )}
    </>
  );
}
