import { Modal, Skeleton } from "@mantine/core";
import { lazy, Suspense } from "react";
import { CreatedWebhook } from "./CreatedWebhook.tsx";
import { useCreateWebhook } from "./use-create-webhook.ts";

const WebhookForm = lazy(() => import("./WebhookForm.tsx"));

/** As high as the form, so that the window does not grow. */
const FORM_HEIGHT = 400;

type Props = { isOpen: boolean; onClose: () => void };

/** Asks where to send events; then shows the secret that signs them. */
export function NewWebhook({ isOpen, onClose }: Props) {
  const create = useCreateWebhook();
  const close = () => {
    create.reset();
    onClose();
  };
  return (
    <Modal
      opened={isOpen}
      onClose={close}
      title={create.data === undefined ? "Add an endpoint" : "The endpoint is there"}
      size="lg"
      closeButtonProps={{ "aria-label": "Close" }}
    >
      {create.data === undefined ? (
        <Suspense fallback={<Skeleton h={FORM_HEIGHT} />}>
          <WebhookForm
            submit="Add endpoint"
            failed="The endpoint was not added"
            isBusy={create.isPending}
            error={create.error}
            onSubmit={(settings) => create.mutate(settings)}
            onCancel={close}
          />
        </Suspense>
      ) : (
        <CreatedWebhook webhook={create.data} onClose={close} />
      )}
    </Modal>
  );
}
