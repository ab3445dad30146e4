import { Checkbox, Input, NativeSelect, SegmentedControl, Textarea, TextInput } from "@mantine/core";
import { useId } from "@mantine/hooks";
import type { ModelControl } from "../../../client/index.ts";
import { controlName, type Value, valueWords } from "../takes/input-words.ts";
import { textProblem } from "../ui/errors.ts";
import type { StepOptions } from "../queries/plan-edits.ts";
import type { StepSetup } from "./step-setup.ts";

type Props = {
  name: string;
  control: ModelControl;
  setup: StepSetup;
  onChange: (changed: StepOptions) => void;
};

/** The field of one control of a model. The control's shape decides, not its name. */
export function ControlField({ name, control, setup, onChange }: Props) {
  const { values, min, max, maxLength } = control;
  const value = setup.values[name];
  const isForced = name in setup.forced && setup.forced[name] === value;
  const label = controlName(name);
  const set = (given: Value | undefined) => onChange({ [name]: given });
  if (values?.every((one) => typeof one === "boolean"))
    return (
      <Checkbox
        label={label}
        checked={value === true}
        disabled={isForced || values.length < 2}
        onChange={({ currentTarget }) => set(currentTarget.checked)}
      />
    );
  if (values !== undefined) return <ChoiceField {...{ name, control, value, isForced, set }} />;
  if (min !== undefined || max !== undefined) return <NumberField {...{ label, control, value, set }} />;
  const text = typeof value === "string" ? value : "";
  return (
    <Textarea
      label={label}
      autosize
      minRows={1}
      maxRows={6}
      value={text}
      error={textProblem(text, maxLength)}
      onChange={({ currentTarget }) => set(currentTarget.value || undefined)}
    />
  );
}

type FieldProps = {
  control: ModelControl;
  /** Undefined: nothing is chosen, and the model has no default. */
  value: Value | undefined;
  /** Undefined sets the model's default again. */
  set: (value: Value | undefined) => void;
};

/** The number of choices that fit beside each other into a card. */
const MAX_BESIDE = 4;

function ChoiceField({ name, control, value, isForced, set }: FieldProps & { name: string; isForced: boolean }) {
  const id = useId();
  const { values = [] } = control;
  const label = controlName(name);
  const data = values.map((one) => ({ value: String(one), label: valueWords(name, one) }));
  const choose = (text: string) => set(values.find((one) => String(one) === text));
  return value !== undefined && values.length > 1 && values.length <= MAX_BESIDE ? (
    <Input.Wrapper label={label} labelElement="div" labelProps={{ id }}>
      <SegmentedControl
        size="sm"
        fullWidth
        aria-labelledby={id}
        data={data}
        value={String(value)}
        disabled={isForced}
        onChange={choose}
      />
    </Input.Wrapper>
  ) : (
    <NativeSelect
      label={label}
      data={control.default === undefined ? [{ value: "", label: "Automatic" }, ...data] : data}
      value={value === undefined ? "" : String(value)}
      disabled={isForced}
      onChange={({ currentTarget }) => choose(currentTarget.value)}
    />
  );
}

function NumberField({ label, control: { min, max }, value, set }: FieldProps & { label: string }) {
  const isOutside = typeof value === "number" && (value < (min ?? value) || value > (max ?? value));
  const range =
    min === undefined ? `At most ${max}.` : max === undefined ? `At least ${min}.` : `From ${min} to ${max}.`;
  return (
    <TextInput
      label={label}
      type="number"
      placeholder="Random"
      min={min}
      max={max}
      step={1}
      value={typeof value === "number" ? value : ""}
      error={isOutside ? range : null}
      onChange={({ currentTarget: { valueAsNumber: given } }) =>
        set(Number.isNaN(given) ? undefined : Math.trunc(given))
      }
    />
  );
}
