import { Button, Group, Loader, Stack, Text, Textarea } from "@mantine/core";
import { useDisclosure, useId } from "@mantine/hooks";
import type { FormEvent, ReactNode } from "react";
import type { Element } from "../../../client/index.ts";
import { DescriptionField, PromptField, promptProblem } from "../prompts/PromptFields.tsx";
import { textProblem } from "../ui/errors.ts";
import { IconCheck, IconChevronDown, IconPencil } from "../ui/Icons.tsx";
import type { Texts, TextsState } from "./use-texts.ts";
import { SmallButton } from "../ui/Buttons.tsx";
import { ErrorNotice } from "../ui/Notices.tsx";

/** The fields are beside each other, so that Generate stays in the window. */
const ROWS = { minRows: 3, maxRows: 3 };
const BESIDE = { display: "grid", gap: 10, gridTemplateColumns: "repeat(auto-fit, minmax(min(100%, 250px), 1fr))" };

type Props = {
  state: TextsState;
  /** The elements that the prompt can name by @. */
  elements: Element[];
  /** Fields beside the description. */
  children?: ReactNode;
};

export function TextsPanel({ state, elements, children }: Props) {
  const { texts, isDirty, conflict, isSaving, error, edit, discard, save, saveOver } = state;
  const [isOpen, { toggle }] = useDisclosure(false);
  const id = useId();
  const problem = promptProblem(texts.textPrompt);
  const descriptionProblem = textProblem(texts.description);
  const canSave = isDirty && problem === null && descriptionProblem === null;
  // A field with a problem is never hidden.
  const isUnfolded = isOpen || descriptionProblem !== null || conflict?.field === "description";
  const field = (name: keyof Texts) => ({
    ...ROWS,
    value: texts[name],
    onChange: ({ currentTarget }: { currentTarget: { value: string } }) => edit(name, currentTarget.value),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const send = conflict === null ? save : saveOver;
    if (canSave) send().catch(() => undefined); // `error` shows the failure
  };
  return (
    <form noValidate onSubmit={submit}>
      <Stack gap="xs">
        <div style={BESIDE}>
          <PromptField {...field("textPrompt")} elements={elements} error={problem} />
          {isUnfolded && <DescriptionField {...field("description")} id={id} error={descriptionProblem} />}
          {conflict !== null && (
            <div role="alert">
              <Textarea
                {...ROWS}
                autosize
                readOnly
                label="Changed elsewhere"
                description={`The saved ${conflict.field === "description" ? "description" : "prompt"}.`}
                value={conflict.saved}
              />
            </div>
          )}
        </div>
        <Group gap="xs">
          <Button
            variant="subtle"
            size="compact-sm"
            ml={-8}
            aria-expanded={isUnfolded}
            aria-controls={id}
            rightSection={<IconChevronDown size={16} />}
            onClick={toggle}
          >
            Description
          </Button>
          {children}
          <TextsStatus isDirty={isDirty} isSaving={isSaving} />
          <Group gap="xs" ml="auto">
            {isDirty && (
              <SmallButton onClick={discard}>{conflict === null ? "Discard" : "Use the saved text"}</SmallButton>
            )}
            <SmallButton type="submit" isBusy={isSaving} isDisabled={!canSave}>
              {conflict === null ? "Save" : "Keep my text"}
            </SmallButton>
          </Group>
        </Group>
        {error !== null && isDirty && conflict === null && <ErrorNotice title="Could not save" error={error} />}
      </Stack>
    </form>
  );
}

function TextsStatus({ isDirty, isSaving }: Pick<TextsState, "isDirty" | "isSaving">) {
  const Icon = isDirty ? IconPencil : IconCheck;
  return (
    <Group gap={6} wrap="nowrap" role="status" flex={1} miw={90} justify="flex-end" c={isDirty ? "inherit" : "dimmed"}>
      {isSaving ? <Loader size={14} color="currentColor" aria-hidden /> : <Icon size={16} />}
      <Text size="sm">{isSaving ? "Saving…" : isDirty ? "Not saved" : "Saved"}</Text>
    </Group>
  );
}
