import { Radio, Stack, TextInput } from "@mantine/core";
import { useState } from "react";
import { useNavigate } from "react-router";
import type { Project, Shot } from "../../../client/index.ts";
import { useCast } from "../queries/element-queries.ts";
import { uploadEnd } from "../queries/reference-image.ts";
import { useOnce } from "../services.ts";
import { useCopyDraft, useDraft } from "../session/use-draft.ts";
import { forNextShot, NO_SETTINGS, settingsDraft } from "../steps/step-options.ts";
import { isPicture } from "../steps/TakePicture.tsx";
import { createShot } from "./create-shot.ts";
import { DescriptionField, PromptField, promptProblem, textProblem, titleProblem } from "./project-fields.tsx";
import { FormWindow } from "../ui/windows.tsx";

type NewProjectProps = {
  isOpen: boolean;
  onClose: () => void;
  /** The film whose shot it becomes. */
  filmId?: string | undefined;
  /** The shot that it follows, and whose ratio, reference image and settings it takes over. */
  before?: Shot | undefined;
  /** By default its page is opened. */
  onCreated?: (project: Project) => void;
};

type ProjectTexts = Pick<Project, "title" | "textPrompt" | "description">;

type Asked = ProjectTexts & Partial<Pick<Project, "aspectRatio"> & { filmId: string }>;
/** `end`: of the video of the shot before, on whose last picture the new one starts. */
type AskedShot = { project: Asked; end: string | null };

const LAST_FRAME: string = "last frame";
const VIDEO_END: string = "video end";

const NO_TEXTS: ProjectTexts = { title: "", textPrompt: "", description: "" };

/** Creates a project. Without the library's forms, which no studio needs to load. */
export function NewProject({ isOpen, onClose, filmId, before, onCreated }: NewProjectProps) {
  const navigate = useNavigate();
  const copyDraft = useCopyDraft();
  const cast = useCast({ filmId: (isOpen && filmId) || null, elementIds: null });
  const [texts, setTyped] = useDraft("new project", NO_TEXTS);
  const [isTried, setTried] = useState(false);
  const [start, setStart] = useState(LAST_FRAME);
  const video = before?.takes.video ?? null;
  const hasEnd = video?.output != null && !isPicture(video.output.contentType);
  const create = useOnce(
    async (keyframe, { project: asked, end }: AskedShot, once) => {
      const image = end === null || video === null ? null : await uploadEnd(keyframe, video);
      return { project: await createShot(keyframe, asked, before, once), image };
    },
    ({ project, image }) => {
      if (before)
        copyDraft(settingsDraft(before.projectId), settingsDraft(project.projectId), NO_SETTINGS, (settings) =>
          forNextShot(settings, image),
        );
      setTyped(() => NO_TEXTS);
      if (onCreated) {
        close();
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
    onChange: (event: { currentTarget: { value: string } }) =>
      setTyped((all) => ({ ...all, [name]: event.currentTarget.value })),
  });
  const close = () => {
    setTried(false);
    onClose();
  };
  return (
    <FormWindow
      title={`New ${noun}`}
      size="lg"
      submit={`Create ${noun}`}
      failed={`Could not create the ${noun}`}
      isOpen={isOpen}
      onClose={close}
      onCancel={() => setTyped(() => NO_TEXTS)}
      saving={create}
      onSubmit={(form) => {
        setTried(true);
        const [refused] = Object.entries(problems).find(([, problem]) => problem !== null) ?? [];
        const ofShot = { ...(filmId && { filmId }), ...(before && { aspectRatio: before.aspectRatio }) };
        const end = hasEnd && start === VIDEO_END ? video.predictionId : null;
        if (refused === undefined) create.mutate({ project: { ...texts, ...ofShot }, end });
        else form.querySelector<HTMLElement>(`[name=${refused}]`)?.focus();
      }}
    >
      <TextInput label="Title" data-autofocus maxLength={200} {...field("title")} />
      <PromptField minRows={4} maxRows={14} elements={cast.ofFilm} {...field("textPrompt")} />
      <DescriptionField {...field("description")} />
      {hasEnd && (
        <Radio.Group label="It starts on" value={start} onChange={setStart}>
          <Stack gap="xs" mt="xs">
            <Radio
              value={LAST_FRAME}
              label={before?.takes["last-frame"] ? "The last frame of the shot before" : "A first frame of its own"}
            />
            <Radio
              value={VIDEO_END}
              label="The last picture of the video before"
              description="It can differ from the last frame that was asked for."
            />
          </Stack>
        </Radio.Group>
      )}
    </FormWindow>
  );
}
