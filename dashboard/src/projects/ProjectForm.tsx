import { Button, Group, Stack, TextInput } from "@mantine/core";
import { type FormEvent, useState } from "react";
import type { Project } from "../../../client/index.ts";
import { DescriptionField, PromptField, promptProblem, textProblem, titleProblem } from "./project-fields.tsx";
import { BusyButton } from "../ui/buttons.tsx";
import { ErrorNotice } from "../ui/notices.tsx";

export type ProjectTexts = Pick<Project, "title" | "textPrompt" | "description">;

type Props = {
  /** What is created. */
  noun: string;
  texts: ProjectTexts;
  isBusy: boolean;
  error: unknown;
  onTyped: (texts: ProjectTexts) => void;
  onSubmit: (texts: ProjectTexts) => void;
  onCancel: () => void;
};

/** The form of a new project. Without the library's forms, which no studio needs to load. */
export function ProjectForm({ noun, texts, isBusy, error, onTyped, onSubmit, onCancel }: Props) {
  const [isTried, setTried] = useState(false);
  const problems = {
    title: titleProblem(texts.title),
    textPrompt: promptProblem(texts.textPrompt),
    description: textProblem(texts.description),
  };
  const field = (name: keyof ProjectTexts) => ({
    name,
    value: texts[name],
    error: (isTried || texts[name] !== "") && problems[name],
    onChange: (event: { currentTarget: { value: string } }) => onTyped({ ...texts, [name]: event.currentTarget.value }),
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    setTried(true);
    const [refused] = Object.entries(problems).find(([, problem]) => problem !== null) ?? [];
    if (refused === undefined) onSubmit(texts);
    else event.currentTarget.querySelector<HTMLElement>(`[name=${refused}]`)?.focus();
  };
  return (
    <form onSubmit={submit} noValidate>
      <Stack>
        <TextInput label="Title" data-autofocus maxLength={200} {...field("title")} />
        <PromptField minRows={4} maxRows={14} {...field("textPrompt")} />
        <DescriptionField {...field("description")} />
        {error !== null && <ErrorNotice title={`Could not create the ${noun}`} error={error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onCancel}>
            Cancel
          </Button>
          <BusyButton type="submit" isBusy={isBusy}>
            Create {noun}
          </BusyButton>
        </Group>
      </Stack>
    </form>
  );
}
