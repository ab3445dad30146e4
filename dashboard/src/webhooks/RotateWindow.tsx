import { Button, Group, Modal, Stack, Text } from "@mantine/core";
import { HowToVerify } from "./HowToVerify.tsx";
import { RotateForm } from "./RotateForm.tsx";
import { SecretText } from "./SecretText.tsx";
import { useRotateSecret } from "./use-rotate-secret.ts";

type Props = { webhookId: string; isOpen: boolean; onClose: () => void; onRotated: (secret: string) => void };

/** A window that replaces the secret, and then shows the new one. */
export function RotateWindow({ webhookId, isOpen, onClose, onRotated }: Props) {
  const rotate = useRotateSecret(webhookId);
  const close = () => {
    rotate.reset();
    onClose();
  };
  return (
    <Modal
      opened={isOpen}
      onClose={close}
      title={rotate.data === undefined ? "Rotate the secret" : "The new secret"}
      size="lg"
      closeButtonProps={{ "aria-label": "Close" }}
    >
      {rotate.data === undefined ? (
        <RotateForm
          isBusy={rotate.isPending}
          error={rotate.error}
          onRotate={(hours) => rotate.mutate(hours, { onSuccess: ({ secret }) => onRotated(secret) })}
          onCancel={close}
        />
      ) : (
        <Stack>
          <Text size="sm" role="status">
            It signs from now on.{" "}
            {rotate.variables === 0
              ? "The old ones sign no more: your server refuses requests until it has this one."
              : `The old one signs beside it for ${rotate.variables} hours: give this one to your server until then.`}
          </Text>
          <SecretText secret={rotate.data.secret} />
          <HowToVerify />
          <Group justify="flex-end">
            <Button onClick={close} data-autofocus>
              Done
            </Button>
          </Group>
        </Stack>
      )}
    </Modal>
  );
}
