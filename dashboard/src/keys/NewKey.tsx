import { Code, Group, NativeSelect, NumberInput, Radio, Stack, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import type { CreatedKey, KeyRight } from "../../../client/index.ts";
import { useOnce, useServices } from "../services.ts";
import { CopyButton } from "../ui/CopyButton.tsx";
import { endAfter } from "../ui/format-time.ts";
import { FormWindow, type WindowProps } from "../ui/windows.tsx";
import { connectLines } from "./connect-lines.ts";
import { RIGHTS } from "./rights.ts";

const ENDS = [
  { value: "", label: "When I revoke it" },
  { value: "30", label: "After 30 days" },
  { value: "90", label: "After 90 days" },
  { value: "365", label: "After a year" },
];
const MOST_DOLLARS = 1_000_000;

/** Makes a key, and shows it once. */
export function NewKey({ isOpen, onClose }: WindowProps) {
  const [name, setName] = useState("");
  const [may, setMay] = useState<KeyRight>("generate");
  const [dollars, setDollars] = useState<number | string>(5);
  const [days, setDays] = useState("");
  const [isTried, setTried] = useState(false);
  const create = useOnce((client, asked: Parameters<typeof client.keys.create>[0], once) =>
    client.keys.create(asked, once),
  );
  const isNameless = name.trim() === "";
  const limit = may === "read" || dollars === "" ? null : Math.round(Number(dollars) * 1_000_000);
  const close = () => {
    setName("");
    setTried(false);
    onClose();
  };
  return (
    <FormWindow
      title={create.data === undefined ? "New key" : "Key created"}
      submit="Create key"
      failed="Could not create the key"
      size="lg"
      isOpen={isOpen}
      onClose={close}
      saving={create}
      done={create.data && <ShowKey created={create.data} />}
      onSubmit={(form) => {
        setTried(true);
        if (isNameless) form.querySelector("input")?.focus();
        else create.mutate({ name: name.trim(), may, dayLimitMicros: limit, expiresAt: endAfter(days) });
      }}
    >
      <TextInput
        label="Name"
        description="Where you use it."
        placeholder="Claude Code on my laptop"
        data-autofocus
        maxLength={80}
        value={name}
        error={isTried && isNameless ? "Enter a name." : null}
        onChange={({ currentTarget }) => setName(currentTarget.value)}
      />
      <Radio.Group label="What it may do" value={may} onChange={(value) => setMay(value as KeyRight)}>
        <Stack gap={8} mt={4}>
          {RIGHTS.map(({ right, label, text }) => (
            <Radio key={right} value={right} label={label} description={text} />
          ))}
        </Stack>
      </Radio.Group>
      {may !== "read" && (
        <NumberInput
          label="The most it may spend a day, in US dollars"
          description="Within your budget. Empty: no limit of its own."
          min={0}
          max={MOST_DOLLARS}
          decimalScale={2}
          prefix="$"
          hideControls
          value={dollars}
          onChange={setDollars}
        />
      )}
      <NativeSelect
        label="The key ends"
        data={ENDS}
        value={days}
        onChange={({ currentTarget }) => setDays(currentTarget.value)}
      />
    </FormWindow>
  );
}

const block = { userSelect: "all", whiteSpace: "pre-wrap", overflowWrap: "anywhere" } as const;

function ShowKey({ created: { key, name } }: { created: CreatedKey }) {
  const lines = connectLines(`${useServices().config.supabaseUrl}/functions/v1`, key);
  const [program, setProgram] = useState("Claude Code");
  const { where, text } = lines[program] ?? { where: "", text: "" };
  return (
    <>
      <Text size="sm" role="status">
        Copy the key of “{name}” now: it is not shown again. Anyone who has it can act for you.
      </Text>
      <Code block style={block}>
        {key}
      </Code>
      <Group>
        <CopyButton text={key} label="Copy key" />
      </Group>
      <NativeSelect
        label="Use it in"
        data={Object.keys(lines)}
        value={program}
        onChange={({ currentTarget }) => setProgram(currentTarget.value)}
      />
      <Text size="sm">{where}</Text>
      <Code block style={block} aria-label={`Lines for ${program}`}>
        {text}
      </Code>
      <Group>
        <CopyButton key={program} text={text} label={`Copy lines for ${program}`} />
      </Group>
    </>
  );
}
