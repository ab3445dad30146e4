import { Button, Checkbox, Group, Radio, Stack, Textarea, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useEffect, useRef } from "react";
import type { Webhook } from "../../../client/index.ts";
import { useServices } from "../services.ts";
import { checkUrl } from "../../../shared/webhooks/check-url.ts";
import { focusFirstError, focusOnMount } from "../ui/window-focus.ts";
import { isLocalStack } from "./endpoint.ts";
import {
  EVENT_CHOICES,
  EVENT_WORDS,
  fieldErrors,
  fromValues,
  isSame,
  toSettings,
  toValues,
  type WebhookSettings,
  type WebhookValues,
} from "./webhook-settings.ts";
import { BusyButton } from "../ui/buttons.tsx";
import { ErrorNotice } from "../ui/notices.tsx";

const NOTHING: WebhookSettings = { url: "", description: "", eventTypes: [] };

type Props = {
  /** Absent for a new one. */
  endpoint?: Webhook;
  saving: { isPending: boolean; error: unknown };
  onSubmit: (settings: WebhookSettings) => void;
  onCancel?: () => void;
};

/** Settings of a new or existing endpoint. */
export default function WebhookForm({ endpoint, saving, onSubmit, onCancel }: Props) {
  const { error } = saving;
  const isNew = endpoint === undefined;
  const { form, isChanged, isLocal } = useWebhookForm(endpoint === undefined ? NOTHING : toSettings(endpoint));
  const refused = fieldErrors(error);

  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each answer
  useEffect(() => {
    if (refused === null) return;
    form.setErrors(refused);
    focusFirstError(form)(refused);
  }, [error]);

  return (
    <form onSubmit={form.onSubmit(onSubmit, focusFirstError(form))} noValidate>
      <Stack>
        <TextInput
          ref={isNew ? focusOnMount : null}
          label="URL"
          description={
            isLocal
              ? "http or https, on this machine or reachable from the internet."
              : "https and reachable from the internet."
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
          description="What it is for. A short description is shown as its name."
          autosize
          minRows={1}
          maxRows={6}
          {...form.getInputProps("description")}
        />
        {error !== null && refused === null && (
          <ErrorNotice title={isNew ? "Could not add the endpoint" : "Could not save the settings"} error={error} />
        )}
        <Group justify="flex-end">
          {onCancel !== undefined && (
            <Button variant="default" onClick={onCancel}>
              Cancel
            </Button>
          )}
          <BusyButton type="submit" isBusy={saving.isPending} isOff={!isNew && !isChanged}>
            {isNew ? "Add endpoint" : "Save"}
          </BusyButton>
        </Group>
      </Stack>
    </form>
  );
}

/** "All events" includes those of later versions. */
function EventChoice({ form }: { form: EndpointForm }) {
  const { isEvery } = form.getValues();
  const chosen = form.getInputProps("eventTypes");
  return (
    <Stack gap="xs">
      <Radio.Group
        label="Events"
        value={isEvery ? "every" : "chosen"}
        onChange={(value) => {
          form.setFieldValue("isEvery", value === "every");
          form.clearFieldError("eventTypes");
        }}
      >
        <Stack gap={6} mt={4}>
          <Radio value="every" label="All events" />
          <Radio value="chosen" label="Selected events" />
        </Stack>
      </Radio.Group>
      {!isEvery && (
        <Checkbox.Group aria-label="Events to send" {...chosen} ml="xl">
          <Stack gap={8}>
            {EVENT_CHOICES.map((type) => (
              <Checkbox key={type} value={type} label={type} description={EVENT_WORDS[type]} />
            ))}
          </Stack>
        </Checkbox.Group>
      )}
    </Stack>
  );
}

const MAX_CHARACTERS = 500;

/**
 * Validates while typing, with the service's own rules. Follows `given` until the user changes a field.
 */
function useWebhookForm(given: WebhookSettings) {
  const isLocal = isLocalStack(useServices().config);
  const form = useForm<WebhookValues, WebhookSettings>({
    initialValues: toValues(given),
    transformValues: fromValues,
    validateInputOnChange: true,
    validate: {
      url: (url) => {
        const text = url.trim();
        if (text === "") return "Enter your server's URL.";
        if ("https://".startsWith(text)) return null; // still typing; otherwise the service refuses it
        return checkUrl(text, { allowLocal: isLocal });
      },
      description: (text) => ([...text].length > MAX_CHARACTERS ? `At most ${MAX_CHARACTERS} characters.` : null),
      eventTypes: (types, { isEvery }) => (!isEvery && types.length === 0 ? "Choose at least one event." : null),
    },
  });

  const followed = useRef(given);
  useEffect(() => {
    const before = followed.current;
    if (isSame(before, given)) return;
    followed.current = given;
    const shown = fromValues(form.getValues());
    if (isSame(shown, before) || isSame(shown, given)) form.setValues(toValues(given));
  }, [given, form]);

  return { form, isLocal, isChanged: !isSame(fromValues(form.values), given) };
}

type EndpointForm = ReturnType<typeof useWebhookForm>["form"];
