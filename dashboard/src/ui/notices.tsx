import { Alert, Code, Group, Stack, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { KeyframeError } from "../../../client/index.ts";
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
