import { Button, Checkbox, Collapse, Group, NativeSelect, Stack, Text } from "@mantine/core";
import { useDisclosure, useId } from "@mantine/hooks";
import type { Element, Model, ProjectWithPredictions } from "../../../client/index.ts";
import { projectNoun } from "../queries/project-queries.ts";
import { MentionTextarea } from "../prompts/MentionTextarea.tsx";
import { type Cast, knownOf } from "../prompts/mentions.ts";
import { textProblem } from "../ui/errors.ts";
import { STEP_NAME } from "../takes/status-words.ts";
import { SmallButton } from "../ui/buttons.tsx";
import { IconAdjustmentsHorizontal } from "../ui/icons.tsx";
import { ControlField } from "./ControlField.tsx";
import { EarlierPictures } from "./EarlierPictures.tsx";
import { ImageField } from "./ImageField.tsx";
import {
  fieldsOf,
  type Given,
  makesWithoutFrame,
  maxReferences,
  modelOf,
  priceWords,
  settingsOf,
  settingWords,
  type StepOptions,
  usesFirstFrame,
  usesLastFrame,
  valuesOf,
  withoutElements,
} from "./step-options.ts";
import { type FrameRole, frameOf } from "../takes/input-words.ts";

type Props = {
  options: StepOptions;
  onChange: (changed: StepOptions) => void;
  models: Model[] | undefined;
  given: Given;
  project: ProjectWithPredictions;
  cast: Cast<Element>;
};

/** The settings of a step, made from what its model takes. Closed, one line says what is set. */
export function StepSettings({ options, onChange, models, given, project, cast }: Props) {
  const [isOpen, { toggle }] = useDisclosure(false);
  const id = useId();
  const model = modelOf(models, options);
  const gone = options.model !== undefined && options.model !== model?.model ? options.model : null;
  const label = options.prompt == null ? "Settings" : "Settings, custom prompt";
  const words = model === undefined ? [] : settingWords(model, options, given);
  return (
    <div>
      <Group gap="xs" wrap="nowrap">
        <Button
          variant="subtle"
          size="compact-sm"
          ml={-8}
          style={{ flexShrink: 0 }}
          aria-expanded={isOpen}
          aria-label={`${label}: ${STEP_NAME[given.step].toLowerCase()}`}
          aria-controls={id}
          leftSection={<IconAdjustmentsHorizontal size={16} />}
          onClick={toggle}
        >
          {label}
        </Button>
        <Text size="xs" c="dimmed" truncate title={words.join(" · ")}>
          {words.join(" · ")}
        </Text>
      </Group>
      <Collapse expanded={isOpen} id={id} keepMounted={false}>
        <Stack gap="sm" pt="xs">
          <MentionTextarea
            label="Prompt for this step"
            description={`Leave empty to use the ${projectNoun(project)}'s prompt.`}
            elements={options.elements == null ? knownOf(cast) : []}
            minRows={2}
            maxRows={8}
            value={options.prompt ?? ""}
            error={textProblem(options.prompt ?? "", model?.promptMaxLength)}
            onChange={({ currentTarget: { value } }) =>
              onChange(value.trim() === "" ? { prompt: undefined, elements: undefined } : { prompt: value })
            }
          />
          {options.elements != null && (options.elements.length > 0 || project.filmId !== null) && (
            <Group gap="xs">
              <Text size="xs">
                As in that take: {options.elements.map(({ name }) => name).join(", ") || "no elements"}.
              </Text>
              <SmallButton onClick={() => onChange(withoutElements(options))}>Use the current cast</SmallButton>
            </Group>
          )}
          {models !== undefined && model !== undefined && (
            <>
              <NativeSelect
                label="Model"
                description={aboutModel(model)}
                data={[
                  ...(gone === null ? [] : [{ value: gone, label: `${gone} (not available)` }]),
                  ...models.map((one) => ({
                    value: one.model,
                    label: `${one.label} · ${priceWords(one)} · ${one.vendor}${one.isDefault ? " (default)" : ""}`,
                  })),
                ]}
                value={gone ?? model.model}
                onChange={({ currentTarget: { value } }) => {
                  const isDefault = models.some((one) => one.model === value && one.isDefault);
                  onChange({ model: isDefault ? undefined : value });
                }}
              />
              <ModelSettings {...{ options, onChange, model, given, project }} />
            </>
          )}
        </Stack>
      </Collapse>
    </div>
  );
}

type ModelSettingsProps = Omit<Props, "cast" | "models"> & { model: Model };

function ModelSettings({ options, onChange, model, given, project }: ModelSettingsProps) {
  const { references, hasLastFrame } = given;
  const isVideo = given.step === "video";
  const continues = options.continuesPreviousShot === true;
  const withFirstFrame = usesFirstFrame(model, options);
  const withLastFrame = hasLastFrame && usesLastFrame(model, options);
  const isEither = model.controls.referenceImages?.excludes?.includes("firstFrame");
  const { values, forced } = valuesOf(model, options, given);
  const most = maxReferences(model, options, given);
  const projectReference = project.referenceImagePath;
  const setReferences = (paths: string[]) => onChange({ referenceImagePaths: paths });
  const ownFrame = (role: FrameRole) => {
    const name = STEP_NAME[role === "firstFrame" ? "first-frame" : "last-frame"];
    const frame = frameOf(options, role);
    return (
      <ImageField
        project={project}
        label={name}
        noun={name.toLowerCase()}
        addLabel="Use an image"
        images={frame === null ? [] : [frame]}
        max={1}
        onChange={([image]) => onChange(fieldsOf(role, image))}
      />
    );
  };
  return (
    <>
      {settingsOf(model).map(([name, control]) => (
        <ControlField
          key={name}
          name={name}
          control={control}
          value={values[name]}
          isForced={name in forced && forced[name] === values[name]}
          onChange={(value) => onChange({ [name]: value })}
        />
      ))}
      {isVideo && (project.filmId !== null || continues) && (
        <Checkbox
          label="Continue the previous shot"
          description="It starts on the end image of the previous shot's video."
          checked={continues}
          onChange={({ currentTarget }) =>
            onChange({
              ...fieldsOf("firstFrame", undefined),
              continuesPreviousShot: currentTarget.checked || undefined,
            })
          }
        />
      )}
      {isVideo && !continues && (
        <Checkbox
          label="Start at the first frame"
          description={
            !makesWithoutFrame(model)
              ? `${model.label} cannot make a video without it.`
              : isEither && `${model.label} accepts either frames or reference images.`
          }
          checked={withFirstFrame}
          disabled={!makesWithoutFrame(model) || model.controls.firstFrame === undefined}
          onChange={({ currentTarget }) => onChange(fieldsOf("firstFrame", currentTarget.checked ? undefined : null))}
        />
      )}
      {isVideo && withFirstFrame && (
        <Group align="flex-start">
          {!continues && ownFrame("firstFrame")}
          {(model.controls.lastFrame !== undefined || frameOf(options, "lastFrame") !== null) && ownFrame("lastFrame")}
        </Group>
      )}
      {given.step === "last-frame" && frameOf(options, "firstFrame") !== null && ownFrame("firstFrame")}
      {hasLastFrame && (withFirstFrame || withLastFrame) && (
        <Checkbox
          label="End at the last frame"
          description={
            model.controls.lastFrame === undefined ? `${model.label} does not support a last frame.` : undefined
          }
          checked={withLastFrame}
          disabled={model.controls.lastFrame === undefined}
          onChange={({ currentTarget }) => onChange(fieldsOf("lastFrame", currentTarget.checked ? undefined : null))}
        />
      )}
      {(most > 0 || references.length > 0) && (
        <>
          <ImageField
            project={project}
            label="Reference images"
            noun="reference image"
            addLabel="Add image"
            images={references}
            max={most}
            onChange={setReferences}
          >
            {projectReference !== null && !references.includes(projectReference) && (
              <SmallButton onClick={() => setReferences([projectReference, ...references])}>
                Use the {projectNoun(project)}'s
              </SmallButton>
            )}
          </ImageField>
          <EarlierPictures project={project} images={references} max={most} onChange={setReferences} />
        </>
      )}
      {references.length > most && (
        <Text size="xs">
          {model.label} takes {most === 0 ? "no reference images" : `only ${most} of these images`}
          {most === 0 && given.step !== "first-frame" && withFirstFrame ? " beside the first frame" : ""}.
        </Text>
      )}
    </>
  );
}

function aboutModel({ notes = "", acceptsFaces, shutdownAt }: Model): string | undefined {
  const ends = shutdownAt === null ? "" : `Retires on ${new Date(shutdownAt).toLocaleDateString()}.`;
  const faces = acceptsFaces === "no" && !/faces/i.test(notes) ? "Does not accept images with people's faces." : "";
  return [notes, faces, ends].filter((one) => one !== "").join(" ") || undefined;
}
