import { Checkbox, Radio, Stack } from "@mantine/core";
import { EVENT_TYPES } from "../../../shared/contract/webhooks.ts";
import { eventWords } from "./event-words.ts";
import type { WebhookForm } from "./use-webhook-form.ts";

/** All events, those of later versions too, or only the chosen ones. */
export function EventChoice({ form }: { form: WebhookForm }) {
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
          <Radio value="every" label="All of them" />
          <Radio value="chosen" label="Only some" />
        </Stack>
      </Radio.Group>
      {!isEvery && (
        <Checkbox.Group aria-label="Events to send" {...chosen} ml="xl">
          <Stack gap={8}>
            {EVENT_TYPES.map((type) => (
              <Checkbox key={type} value={type} label={type} description={eventWords(type)} />
            ))}
          </Stack>
        </Checkbox.Group>
      )}
    </Stack>
  );
}
