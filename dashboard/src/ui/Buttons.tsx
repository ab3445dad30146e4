import { Button, type ButtonProps, Loader } from "@mantine/core";
import type { ComponentProps, MouseEvent } from "react";
import { type Icon, IconPlus } from "./Icons.tsx";

type BusyButtonProps = ButtonProps &
  Omit<ComponentProps<"button">, keyof ButtonProps> & {
    isBusy?: boolean;
    /** Say beside the button why it is disabled. */
    isDisabled?: boolean;
  };

/** A button for rare or secondary actions. */
export const SmallButton = ({ Icon, ...props }: BusyButtonProps & { Icon?: Icon | undefined }) => (
  <BusyButton size="xs" variant="default" leftSection={Icon && <Icon size={16} />} {...props} />
);

export const NewButton = (props: BusyButtonProps) => <BusyButton leftSection={<IconPlus size={18} />} {...props} />;

/** Uses aria-disabled: a disabled button would lose the keyboard focus. */
export function BusyButton({
  isBusy = false,
  isDisabled = false,
  onClick,
  leftSection,
  children,
  ...others
}: BusyButtonProps) {
  const isIdle = !isBusy && !isDisabled;
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
