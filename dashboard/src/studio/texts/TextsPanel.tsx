import { Alert, Button, Collapse, Group, Loader, Stack, Text } from "@mantine/core";
import { useDisclosure, useId } from "@mantine/hooks";
import { IconAlertTriangle, IconCheck, IconChevronDown, IconPencil } from "@tabler/icons-react";
import type { FormEvent } from "react";
import { DescriptionField, PromptField, textProblem } from "../../projects/project-fields.tsx";
import { BusyButton } from "../../ui/BusyButton.tsx";
import { ErrorNotice } from "../../ui/messages.tsx";
import type { TextsState } from "./use-texts.ts";

export function TextsPanel({ state }: { state: TextsState }) {
  const { texts, isDirty, isConflict, isSaving, error, edit, discard, save } = state;
  const [isOpen, { toggle }] = useDisclosure(false);
  const id = useId();
  const problem = texts.textPrompt.trim() === "" ? "Enter a prompt." : textProblem(texts.textPrompt);
  const descriptionProblem = textProblem(texts.description);
  const canSave = isDirty && !isConflict && problem === null && descriptionProblem === null;
  const isUnfolded = isOpen || descriptionProblem !== null; // an invalid field is never hidden
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (canSave) save().catch(() => undefined); // `error` shows it
  };
  return (
    <form noValidate onSubmit={submit}>
      <Stack gap="xs">
        <PromptField
          minRows={3}
          maxRows={3}
          value={texts.textPrompt}
          error={problem}
          onChange={({ currentTarget }) => edit({ ...texts, textPrompt: currentTarget.value })}
        />
        <Group gap="xs">
          <Button
            variant="subtle"
            size="compact-sm"
            ml={-8}
            aria-expanded={isUnfolded}
            aria-controls={id}
            rightSection={<IconChevronDown size={16} aria-hidden />}
            onClick={toggle}
          >
            Description
          </Button>
          <TextsStatus isDirty={isDirty} isSaving={isSaving} />
          {isDirty && !isConflict && (
            <Button size="xs" variant="default" onClick={discard}>
              Discard
            </Button>
          )}
          <BusyButton type="submit" size="xs" variant="default" isBusy={isSaving} isOff={!canSave}>
            Save
          </BusyButton>
        </Group>
        <Collapse expanded={isUnfolded} id={id}>
          <DescriptionField
            value={texts.description}
            error={descriptionProblem}
            onChange={({ currentTarget }) => edit({ ...texts, description: currentTarget.value })}
          />
        </Collapse>
        {isConflict ? (
          <Conflict state={state} />
        ) : (
          error !== null && isDirty && <ErrorNotice title="Could not save" error={error} />
        )}
      </Stack>
    </form>
  );
}

function TextsStatus({ isDirty, isSaving }: Pick<TextsState, "isDirty" | "isSaving">) {
  const Icon = isDirty ? IconPencil : IconCheck;
  return (
    <Group
      gap={6}
      wrap="nowrap"
      role="status"
      flex={1}
      miw={90}
      justify="flex-end"
      {...(isDirty ? {} : { c: "dimmed" })}
    >
      {isSaving ? <Loader size={14} color="currentColor" aria-hidden /> : <Icon size={16} aria-hidden />}
      <Text size="sm">{isSaving ? "Saving…" : isDirty ? "Not saved" : "Saved"}</Text>
    </Group>
  );
}

/** Another tab or person saved other texts meanwhile. */
function Conflict({ state: { texts, saved, discard, saveOver } }: { state: TextsState }) {
  const isPrompt = texts.textPrompt !== saved.textPrompt;
  return (
    <Alert
      color="gray"
      role="alert"
      icon={<IconAlertTriangle aria-hidden />}
      title="The project was changed elsewhere while you typed"
    >
      <Stack gap="xs">
        <Text size="sm" lineClamp={3} style={{ overflowWrap: "anywhere" }}>
          The saved {isPrompt ? "prompt" : "description"} is now: “{isPrompt ? saved.textPrompt : saved.description}”
        </Text>
        <Group gap="xs">
          <Button size="xs" variant="default" onClick={() => saveOver().catch(() => undefined)}>
            Keep my text
          </Button>
          <Button size="xs" variant="default" onClick={discard}>
            Use the saved text
          </Button>
        </Group>
      </Stack>
    </Alert>
  );
}
