import { Button, Group, Stack, Textarea, TextInput } from "@mantine/core";
import { useEffect } from "react";
import type { Webhook } from "../../../client/index.ts";
import { useServices } from "../app/services-context.ts";
import { BusyButton } from "../ui/BusyButton.tsx";
import { ErrorNotice } from "../ui/ErrorNotice.tsx";
import { useFocusOnMount } from "../ui/use-focus-on-mount.ts";
import { EventChoice } from "./EventChoice.tsx";
import { fieldErrors } from "./field-errors.ts";
import { isLocalStack } from "./is-local-stack.ts";
import { useWebhookForm } from "./use-webhook-form.ts";
import { toSettings, type WebhookSettings } from "./webhook-settings.ts";

const NOTHING: WebhookSettings = { url: "", description: "", eventTypes: [] };

type Props = {
  /** Absent for a new one. */
  endpoint?: Webhook;
  submit: string;
  failed: string;
  isBusy: boolean;
  error: unknown;
  onSubmit: (settings: WebhookSettings) => void;
  onCancel?: () => void;
};

/** Where to send what, for a new endpoint or one that is there. */
export default function WebhookForm({ endpoint, submit, failed, isBusy, error, onSubmit, onCancel }: Props) {
  const isLocal = isLocalStack(useServices().config);
  const isNew = endpoint === undefined;
  const address = useFocusOnMount<HTMLInputElement>(isNew);
  const { form, isChanged } = useWebhookForm(endpoint === undefined ? NOTHING : toSettings(endpoint));
  const refused = fieldErrors(error);

  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each answer
  useEffect(() => {
    if (refused !== null) form.setErrors(refused);
  }, [error]);

  return (
    <form onSubmit={form.onSubmit(onSubmit)} noValidate>
      <Stack>
        <TextInput
          ref={address}
          label="Address"
          description={
            isLocal
              ? "https and public, or, on this machine, http on loopback."
              : "https, and reachable from the internet."
          }
          placeholder="https://example.com/webhooks/keyframe"
          type="url"
          inputMode="url"
          autoComplete="off"
          spellCheck={false}
          data-autofocus={isNew || undefined}
          {...form.getInputProps("url")}
        />
        <EventChoice form={form} />
        <Textarea
          label="Description"
          description="What it is for. A short one is the endpoint's name here."
          autosize
          minRows={1}
          maxRows={6}
          {...form.getInputProps("description")}
        />
        {error !== null && refused === null && <ErrorNotice title={failed} error={error} />}
        <Group justify="flex-end">
          {onCancel !== undefined && (
            <Button variant="default" onClick={onCancel}>
              Cancel
            </Button>
          )}
          <BusyButton type="submit" isBusy={isBusy} isOff={!isNew && !isChanged}>
            {submit}
          </BusyButton>
        </Group>
      </Stack>
    </form>
  );
}
