import { Button, Group, Modal, Stack, Text } from "@mantine/core";
import type { Webhook } from "../../../client/index.ts";
import { BusyButton } from "../ui/BusyButton.tsx";
import { ErrorNotice } from "../ui/ErrorNotice.tsx";
import { useDeleteWebhook } from "./use-delete-webhook.ts";

type Props = { webhook: Webhook; isOpen: boolean; onClose: () => void; onDeleted: () => void };

/** Asks before an endpoint goes for good. */
export function DeleteWebhook({ webhook, isOpen, onClose, onDeleted }: Props) {
  const remove = useDeleteWebhook(webhook.webhookId, onDeleted);
  const close = () => {
    remove.reset();
    onClose();
  };
  return (
    <Modal
      opened={isOpen}
      onClose={close}
      title="Delete the endpoint?"
      centered
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <Stack>
        <Text size="sm" style={{ overflowWrap: "anywhere" }}>
          {webhook.url} gets nothing more, and what waits for it is dropped. This cannot be taken back.
        </Text>
        {remove.error !== null && <ErrorNotice title="The endpoint was not deleted" error={remove.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={close} data-autofocus>
            Keep it
          </Button>
          <BusyButton color="red.9" isBusy={remove.isPending} onClick={() => remove.mutate()}>
            Delete it
          </BusyButton>
        </Group>
      </Stack>
    </Modal>
  );
}
