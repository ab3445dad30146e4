import { Button, type ButtonProps, Loader } from "@mantine/core";
import type { ComponentProps, MouseEvent } from "react";

type Props = ButtonProps &
  Omit<ComponentProps<"button">, keyof ButtonProps> & {
    /** The action is running. */
    isBusy?: boolean;
    /** Disabled; say why beside it. */
    isOff?: boolean;
  };

/** Uses aria-disabled: a disabled button would lose the keyboard focus. */
export function BusyButton({ isBusy = false, isOff = false, onClick, leftSection, children, ...others }: Props) {
  const isIdle = !isBusy && !isOff;
  const refuse = (event: MouseEvent) => event.preventDefault();
  return (
    <Button
      {...others}
      data-disabled={!isIdle}
      aria-disabled={isIdle ? undefined : true}
      aria-busy={isBusy || undefined}
      onClick={isIdle ? onClick : refuse}
      leftSection={isBusy ? <Loader size={16} color="currentColor" aria-hidden /> : leftSection}
    >
      {children}
    </Button>
  );
}
