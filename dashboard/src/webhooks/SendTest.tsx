import { Modal } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconSend } from "@tabler/icons-react";
import type { Webhook } from "../../../client/index.ts";
import { BusyButton } from "../ui/BusyButton.tsx";
import { TestResult } from "./TestResult.tsx";
import { useSendTest } from "./use-send-test.ts";

type Props = { webhook: Pick<Webhook, "webhookId" | "enabled"> };

/** Sends a test event and opens a window in which its answer arrives. */
export function SendTest({ webhook }: Props) {
  const test = useSendTest(webhook.webhookId);
  const [isOpen, { open, close }] = useDisclosure(false);
  const send = () => {
    open();
    test.mutate();
  };
  return (
    <>
      <BusyButton
        variant="default"
        leftSection={<IconSend size={16} aria-hidden />}
        isOff={!webhook.enabled}
        title={webhook.enabled ? undefined : "Enable the endpoint first"}
        onClick={send}
      >
        Send test
      </BusyButton>
      <Modal
        opened={isOpen}
        onClose={close}
        title="Test event"
        size="lg"
        centered
        closeButtonProps={{ "aria-label": "Close" }}
      >
        <TestResult sent={test.data} error={test.error} isSending={test.isPending} onSend={send} onClose={close} />
      </Modal>
    </>
  );
}
