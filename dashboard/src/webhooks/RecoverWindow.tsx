import { Modal } from "@mantine/core";
import type { Webhook } from "../../../client/index.ts";
import { RecoverForm } from "./RecoverForm.tsx";

type Props = { webhook: Webhook; isOpen: boolean; onClose: () => void };

/** A window that sends again what failed or was missed. */
export function RecoverWindow({ webhook, isOpen, onClose }: Props) {
  return (
    <Modal
      opened={isOpen}
      onClose={onClose}
      title="Recover what failed or was missed"
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <RecoverForm webhook={webhook} onClose={onClose} />
    </Modal>
  );
}
