/** A cache of at most `max` values; a new one replaces the oldest. `isValid` is called at each read. */
export function createBoundedCache<Value>(max: number, isValid: (value: Value) => boolean) {
  const values = new Map<string, Value>();
  return {
    get(key: string): Value | undefined {
      const value = values.get(key);
      if (value === undefined || isValid(value)) return value;
      values.delete(key);
      return undefined;
    },
    set(key: string, value: Value): void {
      values.delete(key);
      const oldest = values.keys().next().value;
      if (values.size >= max && oldest !== undefined) values.delete(oldest);
      values.set(key, value);
    },
    forget(key: string): void {
      values.delete(key);
    },
  };
}
