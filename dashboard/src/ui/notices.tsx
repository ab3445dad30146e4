import { Alert, Anchor, Code, Group, Stack, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { KeyframeError } from "../../../client/index.ts";
import { useServices } from "../services.ts";
import { SmallButton } from "./buttons.tsx";
import { errorSentence } from "./errors.ts";
import { IconAlertTriangle } from "./icons.tsx";

/** An error with its request id and, where it can help, a retry button; nothing without an error. */
export function ErrorNotice({ title, error, onRetry }: { title: string; error: unknown; onRetry?: () => void }) {
  if (error == null) return null;
  const requestId = error instanceof KeyframeError ? error.requestId : null;
  return (
    <Alert color="red" role="alert" title={title} icon={<IconAlertTriangle />}>
      <Stack gap="xs">
        <Text size="sm">{errorSentence(error)}</Text>
        {error instanceof KeyframeError && error.balance !== null && <CreditLink />}
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

/** Leads to the app's page for credit, if the dashboard was built with one. */
export function CreditLink() {
  const { creditUrl } = useServices().config;
  if (creditUrl === null) return null;
  return (
    <Anchor href={creditUrl} target="_blank" rel="noopener" size="sm" c="inherit" underline="always">
      Add credit
    </Anchor>
  );
}

/** For an error of something that is no longer shown. */
export function notifyError(title: string, error: unknown): void {
  notifications.show({ color: "red", title, message: errorSentence(error) });
}

/** A toast for success. Errors show where they happened. */
export function notify(message: string): void {
  notifications.show({ message });
}
