import { Button, Checkbox, Collapse, Group, NativeSelect, Stack, Text } from "@mantine/core";
import { useDisclosure, useId } from "@mantine/hooks";
import type { Element, Model, ProjectWithPredictions } from "../../../client/index.ts";
import { MentionTextarea } from "../prompts/MentionTextarea.tsx";
import { type Cast, knownOf } from "../prompts/mentions.ts";
import { projectNoun } from "../queries/project-queries.ts";
import { type FrameRole, frameOf } from "../takes/input-words.ts";
import { STEP_NAME } from "../takes/status-words.ts";
import { SmallButton } from "../ui/Buttons.tsx";
import { textProblem } from "../ui/errors.ts";
import { IconAdjustmentsHorizontal } from "../ui/Icons.tsx";
import { ControlField } from "./ControlField.tsx";
import { EarlierPictures } from "./EarlierPictures.tsx";
import { ImageField } from "./ImageField.tsx";
import type { StepOptions } from "../queries/plan-edits.ts";
import { fieldsOf, withoutElements } from "./step-options.ts";
import { priceWords, settingsOf, setupWords, type StepSetup } from "./step-setup.ts";

type Props = {
  setup: StepSetup;
  project: ProjectWithPredictions;
  cast: Cast<Element>;
  onChange: (changed: StepOptions) => void;
};

/** The settings of a step, made from what its model accepts. While closed, one line says what is set. */
export function StepSettings(props: Props) {
  const { setup, onChange } = props;
  const { step, options, model } = setup;
  const [isOpen, { toggle }] = useDisclosure(false);
  const id = useId();
  const label = options.prompt == null ? "Settings" : "Settings, custom prompt";
  const words = setupWords(setup).join(" · ");
  return (
    <div>
      <Group gap="xs" wrap="nowrap">
        <Button
          variant="subtle"
          size="compact-sm"
          ml={-8}
          style={{ flexShrink: 0 }}
          aria-expanded={isOpen}
          aria-label={`${label}: ${STEP_NAME[step].toLowerCase()}`}
          aria-controls={id}
          leftSection={<IconAdjustmentsHorizontal size={16} />}
          onClick={toggle}
        >
          {label}
        </Button>
        <Text size="xs" c="dimmed" truncate title={words}>
          {words}
        </Text>
      </Group>
      <Collapse expanded={isOpen} id={id} keepMounted={false}>
        <Stack gap="sm" pt="xs">
          <StepPrompt {...props} />
          {model !== undefined && (
            <>
              <ModelSelect {...props} model={model} />
              {settingsOf(model).map(([name, control]) => (
                <ControlField key={name} {...{ name, control, setup, onChange }} />
              ))}
              <FrameChoices {...props} model={model} />
              <ReferenceChoice {...props} model={model} />
            </>
          )}
        </Stack>
      </Collapse>
    </div>
  );
}

/** The step's own prompt, and the elements of a repeated take. */
function StepPrompt({ setup: { options, model }, project, cast, onChange }: Props) {
  const { prompt, elements } = options;
  return (
    <>
      <MentionTextarea
        label="Prompt for this step"
        description={`Leave empty to use the ${projectNoun(project)}'s prompt.`}
        elements={elements == null ? knownOf(cast) : []}
        minRows={2}
        maxRows={8}
        value={prompt ?? ""}
        error={textProblem(prompt ?? "", model?.promptMaxLength)}
        onChange={({ currentTarget: { value } }) =>
          onChange(value.trim() === "" ? { prompt: undefined, elements: undefined } : { prompt: value })
        }
      />
      {elements != null && (elements.length > 0 || project.filmId !== null) && (
        <Group gap="xs">
          <Text size="xs">Elements of the reused take: {elements.map(({ name }) => name).join(", ") || "none"}.</Text>
          <SmallButton onClick={() => onChange(withoutElements(options))}>Use the current cast</SmallButton>
        </Group>
      )}
    </>
  );
}

type OfModel = Props & { model: Model };

function ModelSelect({ setup: { options, models = [] }, model, onChange }: OfModel) {
  const offered = models.map((one) => ({
    value: one.model,
    label: `${one.label} · ${priceWords(one)} · ${one.vendor}${one.isDefault ? " (default)" : ""}`,
  }));
  const isGone = options.model !== undefined && options.model !== model.model;
  const gone = { value: options.model ?? "", label: `${options.model} (not available)` };
  return (
    <NativeSelect
      label="Model"
      description={aboutModel(model)}
      data={isGone ? [gone, ...offered] : offered}
      value={isGone ? gone.value : model.model}
      onChange={({ currentTarget: { value } }) => {
        const isDefault = models.some((one) => one.model === value && one.isDefault);
        onChange({ model: isDefault ? undefined : value });
      }}
    />
  );
}

function aboutModel({ notes = "", acceptsFaces, shutdownAt }: Model): string | undefined {
  const faces = acceptsFaces === "no" && !/faces/i.test(notes) ? "Does not accept images with people's faces." : "";
  const ends = shutdownAt === null ? "" : `Retires on ${new Date(shutdownAt).toLocaleDateString()}.`;
  return [notes, faces, ends].filter((one) => one !== "").join(" ") || undefined;
}

/** Where a video starts and ends. For a last frame: the frame of a repeated take that it should resemble. */
function FrameChoices(props: OfModel) {
  const { setup, model, project, onChange } = props;
  const { step, options, needsFirstFrame, usesFirstFrame, hasLastFrame, usesLastFrame } = setup;
  const { firstFrame, lastFrame, referenceImages } = model.controls;
  const isChosen = (role: FrameRole) => frameOf(options, role) !== null;
  if (step === "last-frame" && isChosen("firstFrame")) return <OwnFrame {...props} frame="firstFrame" />;
  if (step !== "video") return null;

  const continues = options.continuesPreviousShot === true;
  const isEither = referenceImages?.excludes?.includes("firstFrame");
  const whyFrame = needsFirstFrame
    ? `${model.label} cannot make a video without it.`
    : firstFrame === undefined
      ? `${model.label} does not support a first frame.`
      : isEither && `${model.label} accepts either frames or reference images.`;
  const needsLastFrame = usesLastFrame && lastFrame?.required === true;
  const whyEnd = needsLastFrame
    ? `${model.label} cannot make a video without it.`
    : lastFrame === undefined && `${model.label} does not support a last frame.`;
  return (
    <>
      {(project.filmId !== null || continues) && (
        <Checkbox
          label="Continue the previous shot"
          description="It starts on the end image of the previous shot's video."
          checked={continues}
          onChange={({ currentTarget: { checked } }) =>
            onChange({ ...fieldsOf("firstFrame", undefined), continuesPreviousShot: checked || undefined })
          }
        />
      )}
      {!continues && (
        <Checkbox
          label="Start at the first frame"
          description={whyFrame}
          checked={usesFirstFrame}
          disabled={needsFirstFrame || (firstFrame === undefined && !usesFirstFrame)}
          onChange={({ currentTarget: { checked } }) => onChange(fieldsOf("firstFrame", checked ? undefined : null))}
        />
      )}
      {usesFirstFrame && (
        <Group align="flex-start">
          {!continues && <OwnFrame {...props} frame="firstFrame" />}
          {(lastFrame !== undefined || isChosen("lastFrame")) && <OwnFrame {...props} frame="lastFrame" />}
        </Group>
      )}
      {hasLastFrame && (usesFirstFrame || usesLastFrame) && (
        <Checkbox
          label="End at the last frame"
          description={whyEnd}
          checked={usesLastFrame}
          disabled={needsLastFrame || (lastFrame === undefined && !usesLastFrame)}
          onChange={({ currentTarget: { checked } }) => onChange(fieldsOf("lastFrame", checked ? undefined : null))}
        />
      )}
    </>
  );
}

/** An image in place of the project's frame. */
function OwnFrame({ setup, project, onChange, frame }: Props & { frame: FrameRole }) {
  const name = STEP_NAME[frame === "firstFrame" ? "first-frame" : "last-frame"];
  return (
    <ImageField
      project={project}
      label={name}
      noun={name.toLowerCase()}
      addLabel="Use an image"
      images={[frameOf(setup.options, frame)].filter((image) => image !== null)}
      max={1}
      onChange={([image]) => onChange(fieldsOf(frame, image))}
    />
  );
}

function ReferenceChoice({ setup, model, project, onChange }: OfModel) {
  const { references, mostReferences: most, usesFirstFrame } = setup;
  if (most === 0 && references.length === 0) return null;
  const own = project.referenceImagePath;
  const change = (paths: string[]) => onChange({ referenceImagePaths: paths });
  const accepted =
    most > 0 ? `only ${most} of these images` : `no reference images${usesFirstFrame ? " with a first frame" : ""}`;
  return (
    <>
      <ImageField
        project={project}
        label="Reference images"
        noun="reference image"
        addLabel="Add image"
        images={references}
        max={most}
        onChange={change}
      >
        {own !== null && !references.includes(own) && (
          <SmallButton onClick={() => change([own, ...references])}>Use the {projectNoun(project)}'s image</SmallButton>
        )}
      </ImageField>
      <EarlierPictures project={project} images={references} max={most} onChange={change} />
      {references.length > most && (
        <Text size="xs">
          {model.label} accepts {accepted}.
        </Text>
      )}
    </>
  );
}
