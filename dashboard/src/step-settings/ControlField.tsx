import { Checkbox, Input, NativeSelect, SegmentedControl, Textarea, TextInput } from "@mantine/core";
import { useId } from "@mantine/hooks";
import type { ModelControl } from "../../../client/index.ts";
import { textProblem } from "../ui/errors.ts";
import { controlName, type Value, valueWords } from "../takes/input-words.ts";

type Props = {
  name: string;
  control: ModelControl;
  /** Undefined: nothing is chosen, and the model has no default. */
  value: Value | undefined;
  /** Another choice forces its value. */
  isForced: boolean;
  /** Undefined: the model's default again. */
  onChange: (value: Value | undefined) => void;
};

/** More do not fit beside each other into a card. */
const MOST_BESIDE = 4;

/** The field of one control of a model, whatever its name: its shape decides. */
export function ControlField({ name, control, value, isForced, onChange }: Props) {
  const id = useId();
  const { values, min, max, maxLength } = control;
  const label = controlName(name);
  if (values?.every((one) => typeof one === "boolean")) {
    return (
      <Checkbox
        label={label}
        checked={value === true}
        disabled={isForced || values.length < 2}
        onChange={({ currentTarget }) => onChange(currentTarget.checked)}
      />
    );
  }
  if (values !== undefined) {
    const data = values.map((one) => ({ value: String(one), label: valueWords(name, one) }));
    const choose = (text: string) => onChange(values.find((one) => String(one) === text));
    if (value !== undefined && values.length > 1 && values.length <= MOST_BESIDE) {
      return (
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
      );
    }
    return (
      <NativeSelect
        label={label}
        data={control.default === undefined ? [{ value: "", label: "Automatic" }, ...data] : data}
        value={value === undefined ? "" : String(value)}
        disabled={isForced}
        onChange={({ currentTarget }) => choose(currentTarget.value)}
      />
    );
  }
  if (min !== undefined || max !== undefined) {
    return (
      <TextInput
        label={label}
        type="number"
        placeholder="Random"
        min={min}
        max={max}
        step={1}
        value={typeof value === "number" ? value : ""}
        error={
          typeof value === "number" && (value < (min ?? value) || value > (max ?? value)) ? rangeWords(control) : null
        }
        onChange={({ currentTarget }) => {
          const given = currentTarget.valueAsNumber;
          onChange(Number.isNaN(given) ? undefined : Math.trunc(given));
        }}
      />
    );
  }
  return (
    <Textarea
      label={label}
      autosize
      minRows={1}
      maxRows={6}
      value={typeof value === "string" ? value : ""}
      error={typeof value === "string" ? textProblem(value, maxLength) : null}
      onChange={({ currentTarget }) => onChange(currentTarget.value === "" ? undefined : currentTarget.value)}
    />
  );
}

const rangeWords = ({ min, max }: ModelControl): string =>
  min === undefined ? `At most ${max}.` : max === undefined ? `At least ${min}.` : `From ${min} to ${max}.`;
