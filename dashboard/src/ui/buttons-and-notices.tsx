import { Alert, Button, type ButtonProps, Code, Group, Loader, Stack, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { type Icon, IconAlertTriangle, IconPlus } from "@tabler/icons-react";
import type { ComponentProps, MouseEvent } from "react";
import { KeyframeError } from "../../../client/index.ts";
import { errorSentence } from "./errors.ts";

type BusyButtonProps = ButtonProps &
  Omit<ComponentProps<"button">, keyof ButtonProps> & {
    /** The action is running. */
    isBusy?: boolean;
    /** Disabled; say why beside it. */
    isOff?: boolean;
  };

/** For what is done seldom, or beside another action. */
export const SmallButton = ({ Icon, ...props }: BusyButtonProps & { Icon?: Icon }) => (
  <BusyButton size="xs" variant="default" leftSection={Icon && <Icon size={16} aria-hidden />} {...props} />
);

/** Makes something new. */
export const NewButton = (props: BusyButtonProps) => (
  <BusyButton leftSection={<IconPlus size={18} aria-hidden />} {...props} />
);

/** Uses aria-disabled: a disabled button would lose the keyboard focus. */
export function BusyButton({
  isBusy = false,
  isOff = false,
  onClick,
  leftSection,
  children,
  ...others
}: BusyButtonProps) {
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

/** An error with its request id and, where it can help, a retry button. */
export function ErrorNotice({ title, error, onRetry }: { title: string; error: unknown; onRetry?: () => void }) {
  const requestId = error instanceof KeyframeError ? error.requestId : null;
  return (
    <Alert color="red" role="alert" title={title} icon={<IconAlertTriangle aria-hidden />}>
      <Stack gap="xs">
        <Text size="sm">{errorSentence(error)}</Text>
        {requestId !== null && (
          <Text size="xs">
            Request <Code>{requestId}</Code>
          </Text>
        )}
        {onRetry !== undefined && (
          <Group>
            <SmallButton onClick={onRetry}>Try again</SmallButton>
          </Group>
        )}
      </Stack>
    </Alert>
  );
}

/** A toast for success. Errors show where they happened. */
export function notify(message: string): void {
  notifications.show({ message, closeButtonProps: { "aria-label": "Dismiss" } });
}
