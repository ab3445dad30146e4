import { Checkbox, Radio, Stack, Textarea, TextInput } from "@mantine/core";
import { useState } from "react";
import { checkUrl } from "../../../shared/webhooks/check-url.ts";
import { useServices } from "../services.ts";
import { textProblem } from "../ui/errors.ts";
import { focusProblem } from "../ui/dialog-focus.ts";
import { isLocalStack } from "./endpoint.ts";
import {
  changesOf,
  EVENT_CHOICES,
  EVENT_WORDS,
  fieldErrors,
  type SavedSettings,
  type WebhookSettings,
} from "./webhook-settings.ts";

const MAX_CHARACTERS = 500;

const urlProblem = (url: string, allowLocal: boolean) =>
  url === "" ? "Enter your server's URL." : checkUrl(url, { allowLocal });

type Saving = { error: unknown; reset: () => void };

/** The settings of an endpoint, as typed over the saved ones. WebhookFields draws them. */
export function useWebhookSettings(saved: SavedSettings, saving: Saving) {
  const isLocal = isLocalStack(useServices().config);
  const [typed, setTyped] = useState<Partial<WebhookSettings>>({});
  const [chosen, setEvery] = useState<boolean>();
  const [isTried, setTried] = useState(false);
  const settings = { ...saved, ...typed };
  const isEvery = chosen ?? settings.eventTypes.length === 0;
  const refused = fieldErrors(saving.error);
  const problems = {
    url: urlProblem(settings.url.trim(), isLocal),
    eventTypes: isEvery || settings.eventTypes.length > 0 ? null : "Choose at least one event.",
    description: textProblem(settings.description, MAX_CHARACTERS),
  };
  const isStillTyped = !isTried && "https://".startsWith(settings.url.trim());
  const errorOf = (name: keyof WebhookSettings) =>
    refused?.[name] ?? ((isTried || typed[name] !== undefined) && problems[name]);
  const changes = changesOf(saved, typed);
  const set = (changed: Partial<WebhookSettings>) => {
    setTyped((all) => ({ ...all, ...changed }));
    if (refused !== null) saving.reset();
  };
  return {
    fields: {
      settings,
      isLocal,
      isEvery,
      errors: {
        url: isStillTyped ? null : errorOf("url"),
        eventTypes: errorOf("eventTypes"),
        description: errorOf("description"),
      },
      set,
      chooseEvery: (value: boolean) => {
        setEvery(value);
        if (value) set({ eventTypes: [] });
      },
    },
    isChanged: Object.keys(changes).length > 0,
    /** An error that concerns no field. */
    error: refused === null ? saving.error : null,
    clear: () => {
      setTyped({});
      setEvery(undefined);
      setTried(false);
    },
    /** Gives the changes, or puts the focus on the first field with a problem. */
    submit: (form: HTMLFormElement, send: (changes: Partial<WebhookSettings>) => void) => {
      setTried(true);
      if (!focusProblem(form, problems)) send(changes);
    },
  };
}

type Props = ReturnType<typeof useWebhookSettings>["fields"];

export const WebhookFields = ({ settings, isLocal, isEvery, errors, set, chooseEvery }: Props) => (
  <>
    <TextInput
      label="URL"
      name="url"
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
      data-autofocus
      value={settings.url}
      error={errors.url}
      onChange={({ currentTarget }) => set({ url: currentTarget.value })}
    />
    <Radio.Group
      label="Events"
      value={isEvery ? "every" : "chosen"}
      onChange={(value) => chooseEvery(value === "every")}
    >
      <Stack gap={6} mt={4}>
        <Radio value="every" label="All events" />
        <Radio value="chosen" label="Selected events" />
      </Stack>
    </Radio.Group>
    {!isEvery && (
      <Checkbox.Group
        aria-label="Events to send"
        ml="xl"
        value={settings.eventTypes}
        error={errors.eventTypes}
        onChange={(types) => set({ eventTypes: EVENT_CHOICES.filter((type) => types.includes(type)) })}
      >
        <Stack gap={8}>
          {EVENT_CHOICES.map((type) => (
            <Checkbox key={type} name="eventTypes" value={type} label={type} description={EVENT_WORDS[type]} />
          ))}
        </Stack>
      </Checkbox.Group>
    )}
    <Textarea
      label="Description"
      name="description"
      description="What it is for. A short description is shown as its name."
      autosize
      minRows={1}
      maxRows={6}
      value={settings.description}
      error={errors.description}
      onChange={({ currentTarget }) => set({ description: currentTarget.value })}
    />
  </>
);
