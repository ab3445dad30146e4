import { NativeSelect, NumberInput, Radio, Stack, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import type { CreatedKey, KeyRight } from "../../../client/index.ts";
import { useOnce } from "../queries/use-once.ts";
import { useServices } from "../services.ts";
import { ExpirySelect, expiryAfter } from "../ui/ExpirySelect.tsx";
import { focusProblem } from "../ui/dialog-focus.ts";
import { type DialogProps, FormDialog, useTyped } from "../ui/Dialogs.tsx";
import { CopyText } from "../ui/CopyButton.tsx";

const MAX_DOLLARS = 1_000_000;

/** The rights of keys. Each right includes those before it. */
const RIGHTS: Record<KeyRight, { label: string; text: string }> = {
  read: { label: "Read", text: "See films, projects, elements, takes and costs." },
  generate: { label: "Generate", text: "Also create and change them, and start takes, which spends your money." },
  manage: { label: "Manage", text: "Also delete them, share films by link, and manage webhooks." },
};

export const rightName = (may: KeyRight): string => RIGHTS[may]?.label ?? may;

export function NewKey(opened: DialogProps) {
  const [{ name, isTried }, set, dialog] = useTyped({ name: "", isTried: false }, opened);
  const [may, setMay] = useState<KeyRight>("generate");
  const [dollars, setDollars] = useState<number | string>(5);
  const [days, setDays] = useState("");
  const create = useOnce((client, body: Parameters<typeof client.keys.create>[0], once) =>
    client.keys.create(body, once),
  );
  const problem = name.trim() === "" ? "Enter a name." : null;
  const limit = may === "read" || dollars === "" ? null : Math.round(Number(dollars) * 1_000_000);
  return (
    <FormDialog
      title={create.data === undefined ? "New key" : "Key created"}
      submit="Create key"
      failed="Could not create the key"
      size="lg"
      {...dialog}
      saving={create}
      done={create.data && <ShowKey created={create.data} />}
      onSubmit={(form) => {
        set({ isTried: true });
        if (focusProblem(form, { name: problem })) return;
        create.mutate({ name: name.trim(), may, dayLimitMicros: limit, expiresAt: expiryAfter(days) });
      }}
    >
      <TextInput
        label="Name"
        name="name"
        description="Where you use it."
        placeholder="Claude Code on my laptop"
        data-autofocus
        maxLength={80}
        value={name}
        error={isTried && problem}
        onChange={({ currentTarget }) => set({ name: currentTarget.value })}
      />
      <Radio.Group label="What it may do" value={may} onChange={(value) => setMay(value as KeyRight)}>
        <Stack gap={8} mt={4}>
          {Object.entries(RIGHTS).map(([right, { label, text }]) => (
            <Radio key={right} value={right} label={label} description={text} />
          ))}
        </Stack>
      </Radio.Group>
      {may !== "read" && (
        <NumberInput
          label="Daily spending limit, in US dollars"
          description="Counts within your budget. Leave empty for no separate limit."
          min={0}
          max={MAX_DOLLARS}
          decimalScale={2}
          prefix="$"
          hideControls
          value={dollars}
          onChange={setDollars}
        />
      )}
      <ExpirySelect label="Key expires" days={[30, 90, 365]} value={days} onChange={setDays} />
    </FormDialog>
  );
}

function ShowKey({ created: { key, name } }: { created: CreatedKey }) {
  const lines = connectLines(`${useServices().config.supabaseUrl}/functions/v1`, key);
  const [program, setProgram] = useState("Claude Code");
  const { where, text } = lines[program] ?? { where: "", text: "" };
  return (
    <>
      <Text size="sm" role="status">
        Copy the key of “{name}” now: it is not shown again. Anyone who has it can act for you.
      </Text>
      <CopyText text={key} label="Copy key" />
      <NativeSelect
        label="Use it in"
        data={Object.keys(lines)}
        value={program}
        onChange={({ currentTarget }) => setProgram(currentTarget.value)}
      />
      <Text size="sm">{where}</Text>
      <CopyText key={program} name={`Lines for ${program}`} text={text} label={`Copy lines for ${program}`} />
    </>
  );
}

type Lines = { where: string; text: string };

const IN_TERMINAL = "In a terminal. Then paste the key and press Enter:";
/** Keeps the key out of the shell's history. */
const READ_KEY = "read -rs KEYFRAME_KEY";

/** What to paste for each program. `functionsUrl` ends with /functions/v1. */
function connectLines(functionsUrl: string, key: string): Record<string, Lines> {
  const url = `${functionsUrl}/keyframe-mcp`;
  const headers = { Authorization: `Bearer ${key}` };
  const json = (value: object) => JSON.stringify(value, null, 2);
  return {
    "Claude Code": {
      where: IN_TERMINAL,
      text: `${READ_KEY} && claude mcp add --transport http keyframe ${url} --header "Authorization: Bearer $KEYFRAME_KEY"`,
    },
    Cursor: {
      where: "In ~/.cursor/mcp.json:",
      text: json({ mcpServers: { keyframe: { url, headers } } }),
    },
    "VS Code": {
      where: "In mcp.json, which the command “MCP: Open User Configuration” opens:",
      text: json({ servers: { keyframe: { type: "http", url, headers } } }),
    },
    Codex: {
      where: "Add the first line to your shell's profile, and run the second one:",
      text: `export KEYFRAME_KEY=${key}\ncodex mcp add keyframe --url ${url} --bearer-token-env-var KEYFRAME_KEY`,
    },
    curl: {
      where: IN_TERMINAL,
      text: `${READ_KEY} && curl ${functionsUrl}/api/projects -H "Authorization: Bearer $KEYFRAME_KEY"`,
    },
  };
}
