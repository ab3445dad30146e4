import { useForm } from "@mantine/form";
import { useEffect, useRef } from "react";
import { checkUrl } from "../../../shared/webhooks/check-url.ts";
import { useServices } from "../app/services-context.ts";
import { isLocalStack } from "./is-local-stack.ts";
import { fromValues, isSame, toValues, type WebhookSettings, type WebhookValues } from "./webhook-settings.ts";

const MOST_CHARACTERS = 500;

/**
 * A form for an endpoint's settings, checked as one types by the service's own rules. Follows `given` while nobody
 * has changed it.
 */
export function useWebhookForm(given: WebhookSettings) {
  const { config } = useServices();
  const allowLocal = isLocalStack(config);
  const form = useForm<WebhookValues, WebhookSettings>({
    initialValues: toValues(given),
    transformValues: fromValues,
    validateInputOnChange: true,
    validate: {
      url: (url) => checkAddress(url.trim(), allowLocal),
      description: (text) => ([...text].length > MOST_CHARACTERS ? `At most ${MOST_CHARACTERS} characters.` : null),
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

  return { form, isChanged: !isSame(fromValues(form.values), given) };
}

export type WebhookForm = ReturnType<typeof useWebhookForm>["form"];

function checkAddress(url: string, allowLocal: boolean): string | null {
  if (url === "") return "Enter the address that your server listens at.";
  if ("https://".startsWith(url)) return null; // still typing; if not, the service says so
  return checkUrl(url, { allowLocal });
}
