import { Checkbox, Input, NativeSelect, SegmentedControl, Textarea, TextInput } from "@mantine/core";
import { useId } from "@mantine/hooks";
import type { ModelControl } from "../../../client/index.ts";
import { controlName, type Value, valueWords } from "../takes/input-words.ts";
import { textProblem } from "../ui/errors.ts";
import type { StepOptions } from "./step-options.ts";
import type { StepSetup } from "./step-setup.ts";

type Props = {
  name: string;
  control: ModelControl;
  setup: StepSetup;
  onChange: (changed: StepOptions) => void;
};

/** The field of one control of a model, whatever its name: its shape decides. */
export function ControlField({ name, control, setup: { values, forced }, onChange }: Props) {
  const value = values[name];
  const field: FieldProps = {
    label: controlName(name),
    value,
    isForced: name in forced && forced[name] === value,
    onChange: (given) => onChange({ [name]: given }),
  };
  if (control.values?.every((one) => typeof one === "boolean")) return <YesNoField {...field} {...control} />;
  if (control.values !== undefined) {
    const data = control.values.map((one) => ({ value: String(one), label: valueWords(name, one) }));
    return <ChoiceField {...field} {...control} data={data} />;
  }
  const isNumber = control.min !== undefined || control.max !== undefined;
  return isNumber ? <NumberField {...field} {...control} /> : <TextField {...field} {...control} />;
}

type FieldProps = {
  label: string;
  /** Undefined: nothing is chosen, and the model has no default. */
  value: Value | undefined;
  /** Another choice forces its value. */
  isForced: boolean;
  /** Undefined: the model's default again. */
  onChange: (value: Value | undefined) => void;
};

const YesNoField = ({ label, value, isForced, onChange, values = [] }: FieldProps & ModelControl) => (
  <Checkbox
    label={label}
    checked={value === true}
    disabled={isForced || values.length < 2}
    onChange={({ currentTarget }) => onChange(currentTarget.checked)}
  />
);

/** More do not fit beside each other into a card. */
const MOST_BESIDE = 4;

type ChoiceProps = FieldProps & ModelControl & { data: { value: string; label: string }[] };

function ChoiceField({ label, value, isForced, onChange, data, values = [], ...control }: ChoiceProps) {
  const id = useId();
  const choose = (text: string) => onChange(values.find((one) => String(one) === text));
  return value !== undefined && values.length > 1 && values.length <= MOST_BESIDE ? (
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

function NumberField({ label, value, onChange, min, max }: FieldProps & ModelControl) {
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
        onChange(Number.isNaN(given) ? undefined : Math.trunc(given))
      }
    />
  );
}

function TextField({ label, value, onChange, maxLength }: FieldProps & ModelControl) {
  const text = typeof value === "string" ? value : "";
  return (
    <Textarea
      label={label}
      autosize
      minRows={1}
      maxRows={6}
      value={text}
      error={textProblem(text, maxLength)}
      onChange={({ currentTarget }) => onChange(currentTarget.value || undefined)}
    />
  );
}
