import { Alert, Anchor, Code, Group, Stack, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { KeyframeError } from "../../../client/index.ts";
import { useServices } from "../services.ts";
import { SmallButton } from "./Buttons.tsx";
import { errorSentence } from "./errors.ts";
import { IconAlertTriangle } from "./Icons.tsx";

/** An error with its request id and, where it can help, a retry button. Renders nothing without an error. */
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

/** A toast for an error of something that is no longer shown. */
export function notifyError(title: string, error: unknown): void {
  notifications.show({ color: "red", title, message: errorSentence(error) });
}

/** A toast for success. Errors show where they happened. */
export function notify(message: string): void {
  notifications.show({ message });
}

/** A toast with a button that undoes a deletion. It stays until it is hidden by its id. */
export function notifyDeleted({ id, title, onUndo }: { id: string; title: string; onUndo: () => void }): void {
  const message = (
    <Group justify="space-between" wrap="nowrap">
      <span style={{ overflowWrap: "anywhere" }}>“{title}” is deleted.</span>
      <SmallButton
        style={{ flex: "none" }}
        onClick={onUndo}
        aria-label={`Undo: delete ${title}`}
        aria-keyshortcuts="Control+Z"
        title="Ctrl+Z"
      >
        Undo
      </SmallButton>
    </Group>
  );
  notifications.show({ id, autoClose: false, withCloseButton: false, message });
}
