import { Radio, Stack, TextInput } from "@mantine/core";
import { useNavigate } from "react-router";
import type { Project, Shot } from "../../../client/index.ts";
import { useCast } from "../queries/element-queries.ts";
import { useOnce } from "../queries/use-once.ts";
import { useDraft } from "../session/use-draft.ts";
import { type Beginning, planOfNextShot } from "../step-settings/step-options.ts";
import { isPicture } from "../takes/TakePicture.tsx";
import { createShot } from "./create-shot.ts";
import { DescriptionField, PromptField, promptProblem } from "../prompts/PromptFields.tsx";
import { textProblem, titleProblem } from "../ui/errors.ts";
import { focusProblem } from "../ui/dialog-focus.ts";
import { type DialogProps, FormDialog, useTyped } from "../ui/Dialogs.tsx";

type Props = DialogProps & {
  /** The film that the new shot joins. */
  filmId?: string;
  /** The new shot follows this one, and copies its ratio, reference image and settings. */
  before?: Shot | undefined;
  /** By default, the page of the new project opens. */
  onCreated?: (project: Project) => void;
};

type ProjectTexts = Pick<Project, "title" | "textPrompt" | "description">;
const NO_TEXTS: ProjectTexts = { title: "", textPrompt: "", description: "" };

type NewShot = ProjectTexts & { filmId?: string | undefined; beginning: Beginning };

type Typed = { isTried: boolean; chosen?: string };

export function NewProject({ filmId, before, onCreated, ...opened }: Props) {
  const navigate = useNavigate();
  const cast = useCast({ filmId: (opened.isOpen && filmId) || null, elementIds: null });
  const [texts, setTyped] = useDraft("new project", NO_TEXTS);
  const [{ isTried, chosen }, set, dialog] = useTyped<Typed>({ isTried: false }, opened);
  const start = startChoice(before, chosen);
  const create = useOnce(
    async (keyframe, { beginning, ...shot }: NewShot, once) => {
      const saved = before && (await keyframe.projects.read(before.projectId));
      const copied = saved && { aspectRatio: saved.aspectRatio, plan: planOfNextShot(saved.plan, beginning) };
      return createShot(keyframe, { ...shot, ...copied }, once, saved);
    },
    (project) => {
      setTyped(() => NO_TEXTS);
      if (onCreated) {
        dialog.onClose();
        onCreated(project);
      } else void navigate(`/projects/${project.projectId}`);
    },
  );
  const noun = filmId === undefined ? "project" : "shot";
  const problems = {
    title: titleProblem(texts.title),
    textPrompt: promptProblem(texts.textPrompt),
    description: textProblem(texts.description),
  };
  const field = (name: keyof ProjectTexts) => ({
    name,
    value: texts[name],
    error: (isTried || texts[name] !== "") && problems[name],
    onChange: ({ currentTarget: { value } }: { currentTarget: { value: string } }) =>
      setTyped((all) => ({ ...all, [name]: value })),
  });
  const submit = (form: HTMLFormElement) => {
    set({ isTried: true });
    if (focusProblem(form, problems)) return;
    create.mutate({ ...texts, filmId, beginning: start.beginning });
  };
  return (
    <FormDialog
      title={`New ${noun}`}
      size="lg"
      submit={`Create ${noun}`}
      failed={`Could not create the ${noun}`}
      {...dialog}
      onCancel={() => setTyped(() => NO_TEXTS)}
      saving={create}
      onSubmit={submit}
    >
      <TextInput label="Title" data-autofocus maxLength={200} {...field("title")} />
      <PromptField minRows={4} maxRows={14} elements={cast.ofFilm} {...field("textPrompt")} />
      <DescriptionField {...field("description")} />
      {before && (
        <Radio.Group label="Start from" value={start.value} onChange={(value) => set({ chosen: value })}>
          <Stack gap="xs" mt="xs">
            <Radio value={CONTINUES} label="The end of the previous video" />
            {start.lastFrame && <Radio value={LAST_FRAME} label="The previous shot's last frame" />}
            <Radio value={NEW_FRAME} label="A new first frame" />
          </Stack>
        </Radio.Group>
      )}
    </FormDialog>
  );
}

const CONTINUES = "continues";
const LAST_FRAME = "last frame";
const NEW_FRAME = "new frame";

/** Where the new shot's video starts: by default on the end of the previous video. */
function startChoice(before: Shot | undefined, chosen: string | undefined) {
  const lastFrame = before?.takes["last-frame"] ?? null;
  const video = before?.takes.video?.output;
  const hasNoEnd = video ? isPicture(video.contentType) : lastFrame !== null; // the last frame exists already
  const value = chosen ?? (!hasNoEnd ? CONTINUES : lastFrame ? LAST_FRAME : NEW_FRAME);
  const atLastFrame = value === LAST_FRAME && lastFrame ? { firstFramePredictionId: lastFrame.predictionId } : null;
  return { value, lastFrame, beginning: value === CONTINUES ? { continuesPreviousShot: true } : atLastFrame };
}
